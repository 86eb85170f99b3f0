"""Beam search: keep the best few beginnings, and make the cache follow when they change places.

Source: Sutskever et al., arXiv 1409.3215, section 3.2; `length_penalty` as in Wu et al.,
arXiv 1609.08144, without its constant.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.cache import KVCache
from model.decoder import Decoder
from model.errors import BadInput
from model.serving.paged import PagedCache


@dataclass(frozen=True, kw_only=True)
class BeamConfig:
    """How many beginnings to keep, how far, what ends one, and how length counts.

    length_penalty 0 ranks by total log-probability, 1 by its mean per token.
    """

    width: int
    new_tokens: int
    stop: frozenset[int] = frozenset()
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        if min(self.width, self.new_tokens) < 1:
            message = f"{self.width} beams of {self.new_tokens} tokens: use at least 1 of each"
            raise BadInput(message)


@dataclass(frozen=True)
class Hypothesis:
    """One continuation and its total log-probability."""

    tokens: tuple[int, ...]
    log_probability: float

    def score(self, length_penalty: float) -> float:
        return self.log_probability / len(self.tokens) ** length_penalty


@dataclass(frozen=True, kw_only=True)
class BeamStep:
    """One step: beam i of the result continues beam origins[i] of the step before."""

    origins: tuple[int, ...]
    live: tuple[Hypothesis, ...]
    finished: tuple[Hypothesis, ...]


@runtime_checkable
class Beams(Protocol):
    """A model that runs several texts side by side and can swap their caches."""

    def start(self, prompt: Sequence[int]) -> Float[Tensor, "1 vocab"]:
        """Logits after the prompt, with one beam."""
        ...

    def reorder(self, rows: Int[Tensor, " beams"]) -> None:
        """Let beam i continue the cache of beam rows[i]; one may be continued twice."""
        ...

    def step(self, tokens: Int[Tensor, " beams"]) -> Float[Tensor, "beams vocab"]:
        """Feed one token to each beam."""
        ...


class OwnCaches(ABC):
    """A cache for each beam. `new_cache` decides how; paged caches share blocks."""

    def __init__(self, new_cache: Callable[[], KVCache]) -> None:
        self.caches = [new_cache()]

    def reorder(self, rows: Int[Tensor, " beams"]) -> None:
        old, self.caches = self.caches, [self.caches[row].fork() for row in rows.tolist()]
        for cache in old:
            if isinstance(cache, PagedCache):
                cache.close()

    @abstractmethod
    def start(self, prompt: Sequence[int]) -> Float[Tensor, "1 vocab"]: ...

    @abstractmethod
    def step(self, tokens: Int[Tensor, " beams"]) -> Float[Tensor, "beams vocab"]: ...


class ForkedBeams(OwnCaches):
    """Beams of a decoder, fed one after another."""

    def __init__(self, decoder: Decoder, new_cache: Callable[[], KVCache]) -> None:
        super().__init__(new_cache)
        self.decoder = decoder

    def start(self, prompt: Sequence[int]) -> Float[Tensor, "1 vocab"]:
        return self.decoder(torch.tensor(prompt, dtype=torch.long), self.caches[0])[-1:]

    def step(self, tokens: Int[Tensor, " beams"]) -> Float[Tensor, "beams vocab"]:
        pairs = zip(tokens.split(1), self.caches, strict=True)
        return torch.cat([self.decoder(token, cache) for token, cache in pairs])


def beam_search(
    beams: Beams, prompt: Sequence[int], config: BeamConfig
) -> tuple[list[Hypothesis], list[BeamStep]]:
    """Return hypotheses, best first, and what every step did.

    Of equal candidates the earlier beam comes first, then the lower token. A beam that ends
    leaves; the search stops when none lives, or at the length limit.
    """
    if not prompt:
        message = "the prompt has 0 tokens: give at least 1"
        raise BadInput(message)
    live, finished, steps = [Hypothesis((), 0.0)], [], []
    logits = beams.start(prompt)
    for step in range(config.new_tokens):
        chosen = best(live, logits.double().log_softmax(dim=-1), config.width)
        done = [h for _, h in chosen if h.tokens[-1] in config.stop]
        going = [(origin, h) for origin, h in chosen if h.tokens[-1] not in config.stop]
        live, finished = [h for _, h in going], finished + done
        origins = tuple(origin for origin, _ in going)
        steps.append(BeamStep(origins=origins, live=tuple(live), finished=tuple(done)))
        if not live:
            break
        if step + 1 < config.new_tokens:
            beams.reorder(torch.tensor(origins))
            logits = beams.step(torch.tensor([h.tokens[-1] for h in live]))
    ranked = sorted(finished + live, key=lambda h: -h.score(config.length_penalty))
    return ranked, steps


def best(
    live: Sequence[Hypothesis], log_laws: Float[Tensor, "beams vocab"], width: int
) -> list[tuple[int, Hypothesis]]:
    """Return the `width` likeliest one-token continuations, each with the beam it came from."""
    totals = log_laws + log_laws.new_tensor([h.log_probability for h in live])[:, None]
    ranking = totals.flatten().sort(descending=True, stable=True).indices[:width].tolist()
    chosen = []
    for index in ranking:
        origin, token = divmod(index, log_laws.shape[-1])
        total = float(totals[origin, token])
        if total > -torch.inf:
            chosen.append((origin, Hypothesis((*live[origin].tokens, token), total)))
    return chosen
