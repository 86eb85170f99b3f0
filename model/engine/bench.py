"""How fast this machine decodes: ours and others, same weights, prompt and type, turn by turn.

Machines drift while they are measured, so the paths take turns within every repeat, and what
is reported beside the medians is their ratio.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from model.engine.config import EngineConfig
from model.engine.elsewhere.turn import Turn
from model.engine.graphed import Graphed
from model.engine.model import LanguageModel
from model.engine.session import Forgetful, Remembering, Session
from model.errors import BadInput

Tokens = Int[Tensor, "batch new"]
Chosen = Int[Tensor, "batch 1"]
Runner = Callable[[Tokens, int], Turn]
"""Reads a prompt, writes so many steps more, and says how long that took."""


@runtime_checkable
class Decoder(Protocol):
    """Reads a prompt, then one token a step, greedily."""

    def prefill(self, prompt: Tokens) -> Chosen: ...

    def step(self, tokens: Tokens) -> Chosen: ...


class Ours:
    """The engine, with whatever session it is given."""

    def __init__(self, model: LanguageModel, begin: Callable[[], Session]) -> None:
        self.model, self.begin = model, begin
        self.session = begin()

    def prefill(self, prompt: Tokens) -> Chosen:
        self.session = self.begin()
        return self.step(prompt)

    @torch.inference_mode()
    def step(self, tokens: Tokens) -> Chosen:
        last = self.session.feed(tokens)[:, -1:]
        return self.model.logits(last)[:, 0].argmax(dim=-1, keepdim=True)


class Replayed(Ours):
    """The engine's step of fixed shape: one slab and one graph, used again for every run."""

    def prefill(self, prompt: Tokens) -> Chosen:
        self.session.crop(0)
        return self.step(prompt)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What every path has to do. An uncached path takes only `n_uncached` steps: it is slow."""

    context: int = 128
    new_tokens: int = 128
    batch: int = 1
    repeats: int = 3
    n_uncached: int = 4

    def __post_init__(self) -> None:
        for name in ("context", "new_tokens", "batch", "repeats", "n_uncached"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, got {getattr(self, name)}"
                raise BadInput(message)

    @property
    def capacity(self) -> int:
        return self.context + self.new_tokens

    def check(self, config: EngineConfig) -> None:
        """Refuse more tokens than the model's positions."""
        if self.capacity > config.context:
            message = (
                f"{self.context} + {self.new_tokens} tokens do not fit in the model's context of "
                f"{config.context}: use at most {config.context - self.new_tokens} + "
                f"{self.new_tokens}"
            )
            raise BadInput(message)


def here(decoder: Decoder) -> Runner:
    """Time a decoder in this process. Its processors' own time does not count its neighbours."""

    def turn(prompt: Tokens, steps: int) -> Turn:
        start = time.perf_counter()
        fed = decoder.prefill(prompt)
        tokens = [int(fed[0, 0])]  # waits for a GPU
        prefilled, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            fed = decoder.step(fed)
            tokens.append(int(fed[0, 0]))
        return Turn(
            prefill_s=prefilled - start,
            step_s=(time.perf_counter() - prefilled) / steps,
            step_cpu_s=(time.process_time() - cpu) / steps,
            tokens=tokens,
        )

    return turn


@dataclass(kw_only=True)
class Path:
    """One line of the table: who runs, what a step of it must read, and the turns it took."""

    name: str
    dtype: str
    runner: Runner
    nbytes_per_step: float
    steps: int
    turns: list[Turn] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def take_turn(self, prompt: Tokens) -> None:
        """Run once; note what it took, and what the first sequence wrote."""
        self.turns.append(self.runner(prompt, self.steps))
        self.tokens = self.turns[-1].tokens

    @property
    def step_s(self) -> list[float]:
        return [turn.step_s for turn in self.turns]

    def row(self, plan: Plan, bytes_per_s: float) -> dict[str, object]:
        """Medians, as the table and the JSON show them."""
        prefill_s = statistics.median(turn.prefill_s for turn in self.turns)
        step_s = statistics.median(self.step_s)
        step_cpu_s = statistics.median(turn.step_cpu_s for turn in self.turns)
        return {
            "path": self.name,
            "dtype": self.dtype,
            "prefill_tokens_per_s": plan.batch * plan.context / prefill_s,
            "decode_ms_per_token": 1e3 * step_s,
            "decode_tokens_per_s": plan.batch / step_s,
            "decode_cpu_ms_per_token": 1e3 * step_cpu_s,
            "decode_ms_of_each_repeat": [1e3 * seconds for seconds in self.step_s],
            "bytes_read_per_step": self.nbytes_per_step,
            "share_of_bandwidth": self.nbytes_per_step / step_s / bytes_per_s,
        }


def our_paths(model: LanguageModel, plan: Plan) -> list[Path]:
    """Ours with its cache, with a step of fixed shape, and without any cache."""
    dtype = str(model.dtype).removeprefix("torch.")
    cache = mean_cache_bytes(model, plan)

    def remember() -> Session:
        return Remembering(model, plan.capacity, batch=plan.batch)

    def forget() -> Session:
        return Forgetful(model, plan.batch)

    paths = [
        Path(
            name="ours",
            dtype=dtype,
            runner=here(Ours(model, remember)),
            nbytes_per_step=model.nbytes_read_per_step + cache,
            steps=plan.new_tokens,
        ),
        Path(
            name="ours, no cache",
            dtype=dtype,
            runner=here(Ours(model, forget)),
            nbytes_per_step=model.nbytes_read_per_step,
            steps=min(plan.n_uncached, plan.new_tokens),
        ),
    ]
    if model.device.type == "cuda":
        session = Graphed(model, plan.capacity, batch=plan.batch)
        whole = cache * plan.capacity / (plan.context + plan.new_tokens / 2)
        paths.append(
            Path(
                name="ours, CUDA graph",
                dtype=dtype,
                runner=here(Replayed(model, lambda: session)),
                nbytes_per_step=model.nbytes_read_per_step + whole,
                steps=plan.new_tokens,
            )
        )
    return paths


def mean_cache_bytes(model: LanguageModel, plan: Plan) -> float:
    """Cache bytes that a step reads on average over the decoded stretch, for the whole batch."""
    rows = plan.batch * (plan.context + plan.new_tokens / 2)
    return model.config.numbers_per_token * model.dtype.itemsize * rows


def take_turns(
    paths: Sequence[Path], prompt: Tokens, plan: Plan, go_on: Callable[[], bool] = lambda: True
) -> Iterator[tuple[int, Path]]:
    """Run every path once to warm it up, then in turns; yield after each turn."""
    for repeat in range(plan.repeats + 1):
        first = repeat % len(paths)
        for path in [*paths[first:], *paths[:first]]:
            if not go_on():
                return
            path.take_turn(prompt)
            yield repeat, path
        if repeat == 0:
            for path in paths:
                path.turns.clear()


def ratio(paths: Sequence[Path], ours: str, theirs: str, dtype: str) -> float | None:
    """Return how many times faster `ours` decodes than the best path named `theirs...`.

    The median over repeats of the ratio within each repeat: drift of the machine cancels.
    """
    mine = [path for path in paths if path.name == ours and path.dtype == dtype]
    others = [path for path in paths if path.name.startswith(theirs) and path.dtype == dtype]
    if not mine or not others:
        return None
    best = [min(times) for times in zip(*(path.step_s for path in others), strict=True)]
    return statistics.median(b / m for b, m in zip(best, mine[0].step_s, strict=True))
