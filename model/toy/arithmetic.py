"""How sums are added up: the one thing in which two runs of the same model may differ.

Floating-point addition is not associative. A matrix library picks the order of a sum by the
shape of the matrices, and a cached run has other shapes than a full one. `FixedOrder` adds the
terms of every sum from first to last, whatever else is computed beside it, so that the two runs
agree in every bit. `Blas` leaves the order to the library: faster, and about 1e-12 apart.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import layer_norm

EPSILON = 1e-5


@dataclass
class Work:
    """What has been computed so far, counted where it is computed."""

    positions: int = 0  # words the decoder read, once however many layers it has
    projected_rows: int = 0  # of those, rows made into queries, keys and values, over all layers
    memory_rows: int = 0  # source rows made into keys and values, over all layers
    self_scores: int = 0  # query-key products between written words, masked ones included
    cross_scores: int = 0  # query-key products with the source
    multiply_adds: int = 0


@runtime_checkable
class Arithmetic(Protocol):
    work: Work

    def take_work(self) -> Work: ...

    def rows(
        self, table: Float[Tensor, "*many vocab d_model"], ids: Int[Tensor, "*batch new"]
    ) -> Float[Tensor, "*more new d_model"]: ...

    def linear(
        self, x: Float[Tensor, "*batch new d_in"], w: Float[Tensor, "*many d_in d_out"]
    ) -> Float[Tensor, "*batch new d_out"]: ...

    def scores(
        self, q: Float[Tensor, "*batch new d_head"], k: Float[Tensor, "*batch seen d_head"]
    ) -> Float[Tensor, "*batch new seen"]: ...

    def softmax(self, scores: Float[Tensor, "*batch seen"]) -> Float[Tensor, "*batch seen"]: ...

    def mix(
        self, weights: Float[Tensor, "*batch new seen"], v: Float[Tensor, "*batch seen d_head"]
    ) -> Float[Tensor, "*batch new d_head"]: ...

    def standardise(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]: ...


class Blas:
    """The library's own products and sums."""

    def __init__(self) -> None:
        self.work = Work()

    def take_work(self) -> Work:
        """Return what was computed since the last call."""
        taken, self.work = self.work, Work()
        return taken

    def rows(self, table: Tensor, ids: Tensor) -> Tensor:
        return table[ids]

    def linear(self, x: Tensor, w: Tensor) -> Tensor:
        self.work.multiply_adds += x.shape[-2] * w.numel()
        return x @ w

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        products = q @ k.transpose(-1, -2)
        self.work.multiply_adds += products.numel() * q.shape[-1]
        return products / math.sqrt(q.shape[-1])

    def softmax(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        self.work.multiply_adds += weights.numel() * v.shape[-1]
        return weights @ v

    def standardise(self, x: Tensor) -> Tensor:
        return layer_norm(x, x.shape[-1:], eps=EPSILON)


class FixedOrder(Blas):
    """Every sum from its first term to its last: a running total, of which the end is kept.

    `cumsum` cannot be reordered, because it must return every partial sum. A row's result depends
    on that row alone, and trailing zeros (masked weights) add nothing. Norms are the library's: it
    takes one row at a time, all of one length, so it has no shape to choose an order by.
    """

    def linear(self, x: Tensor, w: Tensor) -> Tensor:
        self.work.multiply_adds += x.shape[-2] * w.numel()
        return (x.unsqueeze(-1) * w).cumsum(-2).select(-2, -1)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        products = (q.unsqueeze(-2) * k.unsqueeze(-3)).cumsum(-1).select(-1, -1)
        self.work.multiply_adds += products.numel() * q.shape[-1]
        return products / math.sqrt(q.shape[-1])

    def softmax(self, scores: Tensor) -> Tensor:
        powers = (scores - scores.amax(-1, keepdim=True)).exp_()
        return powers / powers.cumsum(-1).narrow(-1, powers.shape[-1] - 1, 1)

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        self.work.multiply_adds += weights.numel() * v.shape[-1]
        return (weights.unsqueeze(-1) * v.unsqueeze(-3)).cumsum(-2).select(-2, -1)


def tensor_of(ids: list[int]) -> Int[Tensor, " new"]:
    return torch.tensor(ids, dtype=torch.int64)
