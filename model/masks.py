"""Which keys a query may read: each pattern is one predicate M(i, j) of two positions.

Written as a matrix, a predicate is a mask; what it counts and which rows it lets a cache
drop is in `patterns`.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model.config import check_positive

Positions = Int[Tensor, "..."]
Predicate = Callable[[Positions, Positions], Bool[Tensor, "..."]]
"""May the query at position i read the key at position j? i and j broadcast."""


def mask(
    may_read: Predicate,
    query_positions: Int[Tensor, "*batch new"],
    key_positions: Int[Tensor, "*batch seen"],
) -> Bool[Tensor, "*batch new seen"]:
    """Write the predicate as a matrix, queries down and keys across.

    >>> mask(window(2), torch.tensor([2, 3]), torch.arange(4)).int().tolist()
    [[0, 1, 1, 0], [0, 0, 1, 1]]
    """
    i, j = query_positions.unsqueeze(-1), key_positions.unsqueeze(-2)
    return may_read(i, j).expand(*i.shape[:-1], j.shape[-1])


def square(may_read: Predicate, n_tokens: int) -> Bool[Tensor, "new new"]:
    """Write the predicate for a whole sequence reading itself."""
    positions = torch.arange(n_tokens)
    return mask(may_read, positions, positions)


def full(i: Positions, j: Positions) -> Bool[Tensor, "..."]:
    """Read every key, before and after: an encoder, or a target reading its source."""
    return (i >= 0) & (j >= 0)


def causal(i: Positions, j: Positions) -> Bool[Tensor, "..."]:
    """Read keys that are not later than the query."""
    return j <= i


def window(width: int) -> Predicate:
    """Read the last `width` keys, the query's own included (Mistral, arXiv 2310.06825)."""
    check_positive("window", width)
    return lambda i, j: (j <= i) & (j > i - width)


def window_with_sinks(width: int, n_sinks: int) -> Predicate:
    """Read the window, and the first `n_sinks` keys of the sequence (arXiv 2309.17453)."""
    check_positive("window", width)
    return lambda i, j: (j <= i) & ((j > i - width) | (j < n_sinks))


def prefix(n_prefix: int) -> Predicate:
    """Read the first `n_prefix` keys from everywhere, the rest causally (T5, arXiv 1910.10683)."""
    return lambda i, j: (j <= i) | ((i >= 0) & (j < n_prefix))


def every(stride: int) -> Predicate:
    """Read every `stride`-th key back from the query (Child et al., arXiv 1904.10509)."""
    check_positive("stride", stride)
    return lambda i, j: (j <= i) & ((i - j) % stride == 0)


def strided(stride: int) -> Predicate:
    """Read the last `stride` keys and every `stride`-th before them."""
    return either(window(stride), every(stride))


def own_block(block: int) -> Predicate:
    """Read earlier keys of the query's own block of `block` tokens."""
    check_positive("block", block)
    return lambda i, j: (j <= i) & (j // block == i // block)


def summaries(block: int, n_summary: int) -> Predicate:
    """Read the last `n_summary` keys of every block so far."""
    check_positive("block", block)
    return lambda i, j: (j <= i) & (j % block >= block - n_summary)


def fixed(block: int, n_summary: int) -> Predicate:
    """Read the own block and the summaries of all blocks (Child et al.)."""
    return either(own_block(block), summaries(block, n_summary))


def dilated(width: int, gap: int) -> Predicate:
    """Read `width` keys, `gap` apart, ending at the query (Longformer, arXiv 2004.05150)."""
    check_positive("window", width)
    check_positive("gap", gap)
    return lambda i, j: (j <= i) & (i - j < width * gap) & ((i - j) % gap == 0)


def either(one: Predicate, other: Predicate) -> Predicate:
    """Read what one of two patterns allows: two kinds of heads, or a merged head."""
    return lambda i, j: one(i, j) | other(i, j)
