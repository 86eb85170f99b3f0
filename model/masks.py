"""Which keys a query may read: each pattern is one predicate of two positions."""

from collections.abc import Callable

from jaxtyping import Bool, Int
from torch import Tensor

from model.errors import BadInput

Positions = Int[Tensor, "..."]
Predicate = Callable[[Positions, Positions], Bool[Tensor, "..."]]
"""M(i, j): may the query at position i read the key at position j? i and j broadcast."""


def mask(
    may_read: Predicate,
    query_positions: Int[Tensor, "*batch new"],
    key_positions: Int[Tensor, "*batch seen"],
) -> Bool[Tensor, "*batch new seen"]:
    """Write the predicate as a matrix, queries down and keys across."""
    i, j = query_positions.unsqueeze(-1), key_positions.unsqueeze(-2)
    return may_read(i, j).expand(*i.shape[:-1], j.shape[-1])


def full(i: Positions, j: Positions) -> Bool[Tensor, "..."]:
    """Read every key, before and after: an encoder."""
    return (i == i) & (j == j)  # noqa: PLR0124 - True in the broadcast shape of i and j


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


def check_positive(name: str, value: int) -> None:
    """Refuse sizes under 1."""
    if value < 1:
        message = f"{name} must be at least 1, got {value}"
        raise BadInput(message)
