"""From logits to the next token: temperature, top-k, top-p and min-p, in a printed order.

The order matters: it changes the set that is kept. Ours is the one of transformers' `generate`
(`generation/logits_process.py`); llama.cpp applies the temperature last. None of it touches
the cache. Every stage sees the whole vocabulary, in float64 whatever the logits are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from model.errors import BadInput

ORDER = ("temperature", "top-k", "top-p", "min-p")
TEMPERATURE_LAST = ("top-k", "top-p", "min-p", "temperature")
TIE_RULE = "Of two tokens with the same logit, the one with the lower id comes first."

Logits = Float[Tensor, "*batch vocab"]
Law = Float[Tensor, "*batch vocab"]
Kept = Bool[Tensor, "*batch vocab"]
Ranking = Int[Tensor, "*batch vocab"]  # ids, likeliest first
Ids = Int[Tensor, "*batch"]
Limit = Callable[[Law, Callable[[], Ranking]], Kept]


class Stage(NamedTuple):
    """What one stage leaves: the renormalised distribution and the tokens still allowed."""

    name: str
    probabilities: Law
    kept: Kept


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How to choose the next token. The defaults change nothing; temperature 0 is greedy.

    top_k: how many tokens to keep, exactly (None keeps all); top_p: keep tokens while the mass
    *before* them is below it (nucleus, arXiv 1904.09751); min_p: keep tokens at least this
    fraction as likely as the likeliest (arXiv 2407.01082). Each keeps at least one token.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    order: tuple[str, ...] = ORDER

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            msg = f"temperature is {self.temperature}: it must be 0 (greedy) or a positive number"
            raise BadInput(msg)
        if self.top_k is not None and self.top_k < 1:
            msg = f"top-k is {self.top_k}: keep at least 1 token, or leave it out to keep all"
            raise BadInput(msg)
        for name, value in (("top-p", self.top_p), ("min-p", self.min_p)):
            if not 0 <= value <= 1:
                msg = f"{name} is {value}: it must lie between 0 and 1"
                raise BadInput(msg)
        if sorted(self.order) != sorted(ORDER):
            msg = f"the order is {self.order}: it must name each of {ORDER} once"
            raise BadInput(msg)

    def stages(self, logits: Logits) -> tuple[Stage, ...]:
        """Every stage's distribution, in `order`: what a figure shows and what `law` ends with.

        logits: any float type, finite or -inf (never allowed); any leading axes.
        Raises ValueError if a logit is NaN or +inf, or a row allows no token at all.
        """
        logits = _checked(logits)
        ranking = cache(partial(_ranked, logits))  # sorted when a stage asks, and once
        kept, law = logits > -torch.inf, logits.softmax(dim=-1)
        stages: list[Stage] = []
        for name in self.order:
            limit = self._limit(name)
            if limit is not None:
                kept = kept & limit(law, ranking)
            if name == "temperature" and self.temperature > 0:
                logits = divided(logits, self.temperature)
            if limit is not None or name == "temperature":  # else it leaves all as it was
                law = logits.masked_fill(~kept, -torch.inf).softmax(dim=-1)
            stages.append(Stage(name, law, kept))
        return tuple(stages)

    def _limit(self, name: str) -> Limit | None:
        """What a stage keeps of a distribution; None where it is set to keep all of it."""
        limits = {
            "temperature": partial(_first, 1) if self.temperature == 0 else None,
            "top-k": partial(_first, self.top_k) if self.top_k is not None else None,
            "top-p": partial(_nucleus, self.top_p) if self.top_p < 1 else None,
            "min-p": partial(_not_below, self.min_p) if self.min_p > 0 else None,
        }
        return limits[name]

    def law(self, logits: Logits) -> Law:
        """Return what the next token is drawn from: float64, exact zeros where not kept."""
        return self.stages(logits)[-1].probabilities

    def choose(self, logits: Logits, generator: torch.Generator) -> Ids:
        """Draw one token a row with the caller's generator; temperature 0 draws nothing."""
        if self.temperature == 0:
            return greedy(_checked(logits))
        return draw(self.law(logits), generator)


def greedy(logits: Logits) -> Ids:
    """Return the likeliest token; of equals the lowest id (`TIE_RULE`)."""
    return logits.argmax(dim=-1)


def divided(logits: Logits, temperature: float) -> Logits:
    """Shift the largest logit to 0, then divide by a positive temperature.

    In this order nothing overflows: 11.06 / 1e-4 is inf in float16, and inf - inf is NaN.
    """
    return (logits - logits.amax(dim=-1, keepdim=True)) / temperature


def draw(law: Law, generator: torch.Generator) -> Ids:
    """Draw one token a row from its distribution; the generator is the caller's."""
    uniform = torch.rand(
        law.shape[:-1], generator=generator, device=generator.device, dtype=torch.float64
    )
    return inverse_cdf(law, uniform.to(law.device))


def inverse_cdf(law: Law, uniform: Float[Tensor, "*batch"]) -> Ids:
    """Return the token whose stretch of the cumulative distribution holds u, 0 <= u < 1.

    A token of probability zero has no stretch, so it is never drawn, not even at u = 0.
    """
    cumulative = law.cumsum(dim=-1)
    point = (uniform * cumulative[..., -1])[..., None]
    token = torch.searchsorted(cumulative, point, right=True)[..., 0]
    ids = torch.arange(law.shape[-1], device=law.device).expand_as(law)
    last = ids.masked_fill(law == 0, 0).amax(dim=-1)
    return torch.minimum(token, last)  # u times the sum may round up to the sum itself


def entropy(law: Law) -> Float[Tensor, "*batch"]:
    """Return the uncertainty of a distribution in nats, 0 for a certain one."""
    return torch.special.entr(law).sum(dim=-1)


def _checked(logits: Logits) -> Logits:
    if logits.device.type == "mps":  # has no float64
        logits = logits.cpu()
    logits = logits.double()
    if not (logits < torch.inf).all():
        msg = "logits hold NaN or +inf: no distribution follows from them"
        raise ValueError(msg)
    if not (logits > -torch.inf).any(dim=-1).all():
        msg = f"a row allows none of its {logits.shape[-1]} tokens: all its logits are -inf"
        raise ValueError(msg)
    return logits


def _ranked(logits: Logits) -> Ranking:
    return logits.sort(dim=-1, descending=True, stable=True).indices


def _first(count: int, law: Law, ranking: Callable[[], Ranking]) -> Kept:
    ranks = torch.arange(law.shape[-1], device=law.device)
    return _by_rank(ranks < count, ranking())


def _nucleus(top_p: float, law: Law, ranking: Callable[[], Ranking]) -> Kept:
    ranked = law.gather(-1, ranking())
    mass_before = ranked.cumsum(dim=-1) - ranked
    rounding = law.shape[-1] * torch.finfo(law.dtype).eps  # so ten equals at 0.8 are 8, not 9
    first = mass_before < top_p - rounding
    first[..., 0] = True
    return _by_rank(first, ranking())


def _not_below(min_p: float, law: Law, ranking: Callable[[], Ranking]) -> Kept:  # noqa: ARG001 - needs no order
    return law >= min_p * law.amax(dim=-1, keepdim=True)


def _by_rank(kept: Bool[Tensor, "*_ vocab"], ranking: Ranking) -> Kept:
    empty = torch.zeros_like(ranking, dtype=torch.bool)
    return empty.scatter(-1, ranking, kept.expand_as(ranking))
