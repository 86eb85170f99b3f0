"""What sharing keys and values across layers saves, and what it does not, in closed form."""

from collections.abc import Sequence


def prefill_positions(n_layers: int, n_tokens: int, n_upper: int = 0) -> tuple[int, ...]:
    """How many prompt positions each layer computes; the upper ones may take the last alone.

    YOCO's early exit (arXiv 2405.05254): an upper layer reads no other position's upper state.

    >>> prefill_positions(4, 100, n_upper=2)
    (100, 100, 1, 1)
    """
    return (n_tokens,) * (n_layers - n_upper) + (1,) * n_upper


def reads_of(owner_of: Sequence[int], rows: Sequence[int]) -> int:
    """Rows one decode step reads over all layers: a shared store is read by every layer it serves.

    >>> reads_of([0, 0, 1, 1], [10, 10])
    40
    """
    return sum(rows[owner] for owner in owner_of)
