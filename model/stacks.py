"""Layers of different reach in one stack: what they see together, what they keep each.

A stack is a tuple of windows, one a layer, None where a layer reads everything so far.
"""

from collections.abc import Sequence
from functools import reduce

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model import masks

Stack = Sequence[int | None]


def repeating(n_layers: int, group: Stack) -> tuple[int | None, ...]:
    """Repeat a group of layers until there are `n_layers`; the last group may stay short.

    >>> repeating(5, (128, None))
    (128, None, 128, None, 128)
    """
    return tuple(group[layer % len(group)] for layer in range(n_layers))


def gemma_2(n_layers: int) -> tuple[int | None, ...]:
    """Alternate a window of 4,096 with a global layer (arXiv 2408.00118)."""
    return repeating(n_layers, (4096, None))


def gemma_3(n_layers: int, window: int = 1024) -> tuple[int | None, ...]:
    """Follow five windows (1,024; 512 in the 1B) by one global layer (arXiv 2503.19786)."""
    return repeating(n_layers, (window,) * 5 + (None,))


def gpt_oss(n_layers: int) -> tuple[int | None, ...]:
    """Alternate a window of 128 on even layers with a full one (openai/gpt-oss model.py)."""
    return repeating(n_layers, (128, None))


def rows_kept(stack: Stack, n_tokens: int) -> tuple[int, ...]:
    """Count the rows each layer's cache holds after `n_tokens` tokens: min(tokens, window)."""
    return tuple(n_tokens if width is None else min(n_tokens, width) for width in stack)


def share_kept(stack: Stack, n_tokens: int) -> float:
    """Compare the rows kept with those of a stack that is global everywhere.

    >>> round(share_kept(gemma_3(62), 32_768), 4)
    0.1875
    """
    return sum(rows_kept(stack, n_tokens)) / (n_tokens * len(stack))


def receptive_field(windows: Sequence[int]) -> int:
    """Count positions the top layer's output depends on: each window adds width - 1.

    For L equal windows that is L(w - 1) + 1, its own position included.

    >>> receptive_field([4096] * 32)
    131041
    """
    return sum(width - 1 for width in windows) + 1


def reachable(layers: Sequence[Bool[Tensor, "new new"]]) -> Bool[Tensor, "new new"]:
    """Follow masks through a stack, lowest layer first: [i, j] says output i depends on input j.

    Each layer also passes its own row on (the residual connection).
    """
    identity = torch.eye(layers[0].shape[-1], dtype=torch.bool)
    return reduce(_follow, (layer | identity for layer in layers))


def _follow(
    below: Bool[Tensor, "new new"], above: Bool[Tensor, "new new"]
) -> Bool[Tensor, "new new"]:
    return (above.double() @ below.double()) > 0


def seen_through(stack: Stack, n_tokens: int) -> Int[Tensor, " new"]:
    """Count, by reachability, the inputs each output of a stack depends on."""
    patterns = [masks.causal if width is None else masks.window(width) for width in stack]
    return reachable([masks.square(pattern, n_tokens) for pattern in patterns]).sum(dim=-1)
