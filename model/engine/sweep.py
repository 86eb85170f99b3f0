"""How a step's time grows with the context and the batch: one prompt, read once, then many copies.

The cache's content does not change what a step costs, so a prompt is read as one sequence and its
rows are copied for the others; each path decodes in turns, a few tokens at a time.
"""

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from model.engine.config import EngineConfig
from model.engine.devices import check_fits
from model.engine.model import LanguageModel
from model.engine.session import Remembering
from model.errors import BadInput

Tokens = Int[Tensor, "batch new"]
Chosen = Int[Tensor, "batch 1"]
Step = Callable[[Chosen], Chosen]

CONTEXTS = (128, 512, 2048, 8000)
BATCHES = (1, 4, 16)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is measured: every context with every batch, `repeats` bursts of `burst` steps each."""

    contexts: tuple[int, ...] = CONTEXTS
    batches: tuple[int, ...] = BATCHES
    burst: int = 4
    repeats: int = 3

    def __post_init__(self) -> None:
        for name in ("burst", "repeats"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, got {getattr(self, name)}")
        if min((*self.contexts, *self.batches), default=0) < 1:
            raise BadInput("a sweep needs contexts and batches of at least 1")

    @property
    def n_steps(self) -> int:
        """Steps a path takes in a cell; the first burst only warms up."""
        return self.burst * (self.repeats + 1)

    def check(self, config: EngineConfig) -> None:
        """Refuse contexts past the model's positions."""
        longest = max(self.contexts)
        if longest + self.n_steps > config.context:
            raise BadInput(
                f"{longest} + {self.n_steps} tokens do not fit in the model's context of "
                f"{config.context}: sweep to at most {config.context - self.n_steps}"
            )


class Reader(ABC):
    """A path that reads a prompt once and can go on from copies of it."""

    @abstractmethod
    def read(self, prompt: Tokens) -> Chosen:
        """Read one sequence and choose its next token."""

    @abstractmethod
    def copies(self, batch: int, n_steps: int) -> Step:
        """Return a step that decodes `batch` copies of what was read, for so many steps."""


class OursRead(Reader):
    """The engine."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.session = Remembering(model, 1)

    def read(self, prompt: Tokens) -> Chosen:
        self.session = Remembering(self.model, prompt.shape[1])
        return self.choose(self.session, prompt)

    def copies(self, batch: int, n_steps: int) -> Step:
        session = Remembering(self.model, self.session.length + n_steps, batch=batch)
        for store, one in zip(session.cache.stores, self.session.cache.stores, strict=True):
            store.append(*(rows.expand(batch, -1, -1, -1) for rows in one.read()))
        return lambda tokens: self.choose(session, tokens)

    @torch.inference_mode()
    def choose(self, session: Remembering, tokens: Tokens) -> Chosen:
        last = session.feed(tokens)[:, -1:]
        return self.model.logits(last)[:, 0].argmax(dim=-1, keepdim=True)


class TransformersRead(Reader):
    """Transformers' model with its DynamicCache, or a StaticCache of the length needed."""

    def __init__(self, model: Any, kind: str) -> None:
        self.model, self.kind = model, kind
        self.cache: Any = None

    def read(self, prompt: Tokens) -> Chosen:
        from transformers import DynamicCache  # noqa: PLC0415 - only a benchmark needs it

        self.cache = DynamicCache(config=self.model.config)
        return self.choose(self.cache, prompt)

    def copies(self, batch: int, n_steps: int) -> Step:
        cache = self.empty(self.cache.get_seq_length() + n_steps)
        with torch.inference_mode():
            for index, layer in enumerate(self.cache.layers):
                k, v = (rows.expand(batch, -1, -1, -1) for rows in (layer.keys, layer.values))
                cache.update(k, v, index)
        return lambda tokens: self.choose(cache, tokens)

    def empty(self, capacity: int) -> Any:
        from transformers import DynamicCache, StaticCache  # noqa: PLC0415

        if self.kind == "DynamicCache":
            return DynamicCache(config=self.model.config)
        return StaticCache(config=self.model.config, max_cache_len=capacity)

    @torch.inference_mode()
    def choose(self, cache: Any, tokens: Tokens) -> Chosen:
        scores = self.model(tokens, cache=cache, logits_to_keep=1).logits[:, -1]
        return scores.argmax(dim=-1, keepdim=True)


def sweep(
    readers: Mapping[str, Reader], prompt: Tokens, grid: Grid, nbytes: Callable[[int, int], int]
) -> Iterator[dict[str, Any]]:
    """Yield one row per path, context and batch; a cell that does not fit says why instead.

    prompt: one sequence, as long as the longest context; nbytes: what the caches of one path take
    with a context and a batch.
    """
    for context in grid.contexts:
        firsts = {name: reader.read(prompt[:, :context]) for name, reader in readers.items()}
        for batch in grid.batches:
            cell = {"context": context, "batch": batch}
            try:  # every path's copies, and as much again: DynamicCache copies itself to grow
                need = (len(readers) + 1) * nbytes(context + grid.n_steps, batch)
                check_fits(need, prompt.device, f"caches of {batch} x {context} tokens")
            except BadInput as error:
                yield {**cell, "skipped": str(error)}
                continue
            for name, (seconds, tokens) in measure_cell(readers, firsts, batch, grid).items():
                yield {**cell, "path": name, "step_s": seconds, "tokens": tokens}


def measure_cell(
    readers: Mapping[str, Reader], firsts: Mapping[str, Chosen], batch: int, grid: Grid
) -> dict[str, tuple[list[float], list[int]]]:
    """Let every path decode in bursts, in turns: seconds a step of each burst, and the words."""
    steps = {name: reader.copies(batch, grid.n_steps) for name, reader in readers.items()}
    fed = {name: first.expand(batch, 1).clone() for name, first in firsts.items()}
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    words = {name: [int(first)] for name, first in firsts.items()}
    for _ in range(grid.repeats + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            for _ in range(grid.burst):
                fed[name] = step(fed[name])
                words[name].append(int(fed[name][0, 0]))  # waits for a GPU
            seconds[name].append((time.perf_counter() - start) / grid.burst)
    return {name: (seconds[name][1:], words[name]) for name in readers}


def row(found: Mapping[str, Any], dtype: str, n_bytes: float, bytes_per_s: float) -> dict[str, Any]:
    """One measured cell as the table and the JSON show it."""
    step_s = statistics.median(found["step_s"])
    return {
        "path": found["path"],
        "dtype": dtype,
        "context": found["context"],
        "batch": found["batch"],
        "decode_ms_per_token": 1e3 * step_s,
        "decode_tokens_per_s": found["batch"] / step_s,
        "decode_ms_of_each_repeat": [1e3 * seconds for seconds in found["step_s"]],
        "share_of_bandwidth": n_bytes / step_s / bytes_per_s,
    }
