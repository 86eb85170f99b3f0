"""Rows of different lengths in one batch: padding on the left, positions counted without it.

Source: huggingface/transformers, `prepare_inputs_for_generation` (cumulative sum of the mask).
"""

from jaxtyping import Bool, Int
from torch import Tensor

HIDDEN = 2**31
"""A position later than any query: no causal mask lets padding be read."""


def places(real: Bool[Tensor, " tokens"]) -> Int[Tensor, " tokens"]:
    """Position of each token of one padded row; padding has none and stands out of sight.

    >>> import torch
    >>> places(torch.tensor([False, False, True, True, True]))[2:].tolist()
    [0, 1, 2]
    """
    counted = real.long().cumsum(dim=0) - 1
    return counted.masked_fill(~real, HIDDEN)


def next_place(real: Bool[Tensor, " tokens"]) -> int:
    """Position of the token that follows: the row's own count, not the width of the batch.

    >>> import torch
    >>> next_place(torch.tensor([False, False, True, True, True]))
    3
    """
    return int(real.sum())
