"""What positions do to scores, measured: a cached key is turned once and never again."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.rope import Layout, halves, rotate

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class ShiftRecord:
    """One query and one key at every pair of places, and again with all places moved.

    scores, moved: [query place, key place] of q . k after turning; largest_change compares
    them: rounding for rotary positions, because only the distance counts.
    """

    places: Array
    shift: int
    scores: Array
    moved: Array

    @property
    def largest_change(self) -> float:
        return float(np.abs(self.scores - self.moved).max())


def rotary_scores(
    q: Float[Tensor, " d_head"],
    k: Float[Tensor, " d_head"],
    places: Int[Tensor, " places"],
    base: float = 10_000.0,
    layout: Layout = halves,
) -> Float[Tensor, "places places"]:
    """Turn the query and the key to every place and score every pair: [query, key]."""
    queries, keys = (rotate(x.expand(1, len(places), -1), places, base, layout)[0] for x in (q, k))
    return queries @ keys.mT


def record_shift(  # noqa: PLR0913 - a turned pair of vectors is these
    q: Float[Tensor, " d_head"],
    k: Float[Tensor, " d_head"],
    *,
    n_places: int,
    shift: int,
    base: float = 10_000.0,
    layout: Layout = halves,
) -> ShiftRecord:
    """Score all pairs of `n_places` places, here and `shift` tokens further on."""
    places = torch.arange(n_places)
    scores, moved = (rotary_scores(q, k, at, base, layout) for at in (places, places + shift))
    return ShiftRecord(
        places=_frozen(places), shift=shift, scores=_frozen(scores), moved=_frozen(moved)
    )


def code_products(codes: Float[Tensor, "places d_model"]) -> Array:
    """Return the inner products of sinusoidal position codes: they depend on the distance."""
    return _frozen(codes @ codes.mT)


def _frozen(x: Tensor) -> Array:
    array = x.numpy().copy()
    array.flags.writeable = False
    return array
