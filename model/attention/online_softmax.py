"""Softmax attention one block of keys at a time, through a running maximum, sum and mix.

The full row of scores is never needed: a block is absorbed into (m, l, o), and two partial
results merge into the result of both. Exact up to rounding, for any blocks in any order.
Sources: Milakov and Gimelshein, arXiv 1805.02867 (m, l); FlashAttention, arXiv 2205.14135;
flash-decoding (Dao, Haziza, Massa, Sizov 2023) for the split and the merge.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from model.attention.attend import masked_scores, share_heads
from model.errors import BadInput

Scores = Float[Tensor, "*batch new seen"]
Values = Float[Tensor, "*batch seen d_value"]
Rows = Float[Tensor, "*batch new"]
Mix = Float[Tensor, "*batch new d_value"]


@dataclass(frozen=True)
class Partial:
    """What has been read so far, per query row.

    maximum: the largest score; total: the sum of exp(score - maximum); mix: the values summed
    under the same weights, not yet divided by the total. Nothing read is (-inf, 0, 0).
    """

    maximum: Rows
    total: Rows
    mix: Mix

    def result(self) -> Mix:
        """Return the attention output; a row that saw no key gives zeros, not NaN."""
        return self.mix / self.total.where(self.total > 0, 1.0)[..., None]

    def log_sum_exp(self) -> Rows:
        """Return log of the sum of exp(score): -inf for a row that saw no key."""
        return self.maximum + self.total.log()


def nothing(mix: Mix) -> Partial:
    """Return the state before the first key, shaped like this mix: the identity of `merge`."""
    rows = torch.zeros_like(mix[..., 0])
    return Partial(torch.full_like(rows, -torch.inf), rows, torch.zeros_like(mix))


def read_block(scores: Scores, values: Values) -> Partial:
    """Softmax one block by itself; it may hide all its keys from a row, or hold none."""
    if scores.shape[-1] == 0:
        return nothing(scores @ values)
    maximum = scores.amax(dim=-1)
    weights = (scores - _reachable(maximum)[..., None]).exp()
    return Partial(maximum, weights.sum(dim=-1), weights @ values)


def merge(a: Partial, b: Partial) -> Partial:
    """Join two partial results: associative, commutative, and `nothing` changes nothing.

    Each side is rescaled from its own maximum down to the larger one, so no exp overflows.
    """
    maximum = torch.maximum(a.maximum, b.maximum)
    keep_a = (a.maximum - _reachable(maximum)).exp()
    keep_b = (b.maximum - _reachable(maximum)).exp()
    return Partial(
        maximum,
        a.total * keep_a + b.total * keep_b,
        a.mix * keep_a[..., None] + b.mix * keep_b[..., None],
    )


def absorb(blocks: Iterable[tuple[Tensor, Tensor]]) -> Iterator[Partial]:
    """Read (scores, values) block after block, of any sizes; yield the state after each."""
    state = None
    for scores, values in blocks:
        block = read_block(scores, values)
        state = merge(nothing(block.mix) if state is None else state, block)
        yield state


def blocks_of(scores: Scores, values: Values, block_size: int) -> Iterator[tuple[Scores, Values]]:
    """Cut a row of scores and its values into blocks; no keys at all make one empty block."""
    if block_size < 1:
        message = f"a block of {block_size} keys reads nothing: use at least 1"
        raise BadInput(message)
    for start in range(0, max(scores.shape[-1], 1), block_size):
        stop = start + block_size
        yield scores[..., start:stop], values[..., start:stop, :]


def online_softmax(scores: Scores, values: Values, block_size: int) -> Partial:
    """Return the state after the last block; `.result()` is softmax(scores) @ values."""
    *_, last = absorb(blocks_of(scores, values, block_size))
    return last


def attend_in_blocks(
    q: Float[Tensor, "*batch heads new d_key"],
    k: Float[Tensor, "*batch kv_heads seen d_key"],
    v: Float[Tensor, "*batch kv_heads seen d_value"],
    mask: Bool[Tensor, "new seen"] | None = None,
    *,
    block_size: int,
) -> Float[Tensor, "*batch heads new d_value"]:
    """`attend` that holds at most `block_size` scores a query at any moment."""

    def blocks() -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, max(k.shape[-2], 1), block_size):
            keys = slice(start, start + block_size)
            shared_k, shared_v = (share_heads(x[..., keys, :], q.shape[-3]) for x in (k, v))
            seen = None if mask is None else mask[..., keys]
            yield masked_scores(q, shared_k, seen, scale=None), shared_v

    *_, last = absorb(blocks())
    return last.result()


def _reachable(maximum: Rows) -> Rows:
    """Subtract 0 where nothing was seen: (-inf) - (-inf) is NaN, exp(-inf - 0) is 0."""
    return maximum.masked_fill(maximum == -torch.inf, 0.0)
