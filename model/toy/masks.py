"""Which keys a query may read, in the toy's decoder."""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

Mask = Callable[[int, int], Bool[Tensor, "new seen"] | None]


def causal(new: int, seen: int) -> Bool[Tensor, "new seen"] | None:
    """Query a of the `new` last places reads keys up to its own place; None where that is all.

    >>> causal(2, 3).int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    if new == 1:  # the newest place reads everything before it: nothing to hide
        return None
    return torch.ones(new, seen, dtype=torch.bool).tril(seen - new)


def bidirectional(_new: int, _seen: int) -> None:
    """Every query reads every key: what a decoder must not do if its rows are to be kept."""
