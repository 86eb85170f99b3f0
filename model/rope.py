"""Rotary positions: a key is turned once by its own place, and scores see only distances.

Source: RoFormer, arXiv 2104.09864 (pairs); huggingface/transformers modeling_llama.py (halves).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.errors import BadInput

Layout = Callable[[int], Int[Tensor, " d_head"]]
"""Which channels turn together: the order that puts all first partners before all second ones."""


def halves(d_head: int) -> Int[Tensor, " d_head"]:
    """Channel i turns with channel i + d_head/2 (GPT-NeoX, Llama in transformers, gpt-oss).

    >>> halves(6).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    return torch.arange(d_head)


def pairs(d_head: int) -> Int[Tensor, " d_head"]:
    """Channel 2i turns with channel 2i + 1 (the paper, GPT-J, DeepSeek).

    >>> pairs(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.cat([torch.arange(0, d_head, 2), torch.arange(1, d_head, 2)])


LAYOUTS: dict[str, Layout] = {"halves": halves, "pairs": pairs}


def frequencies(d_head: int, base: float) -> Float[Tensor, " half"]:
    """Radians each channel pair turns per position: base^(-2i/d_head), in float64.

    >>> frequencies(4, 10_000.0).tolist()
    [1.0, 0.01]
    """
    if d_head % 2:
        message = f"rotary positions turn pairs of channels: {d_head} is odd, use {d_head + 1}"
        raise BadInput(message)
    return base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)


def turn(
    x: Float[Tensor, "*batch heads new d_head"],
    angles: Float[Tensor, "*#batch new half"],
    layout: Layout = halves,
) -> Float[Tensor, "*batch heads new d_head"]:
    """Turn every channel pair of every head by its angle (radians), in the precision of x."""
    order = layout(x.shape[-1]).to(x.device)
    first, second = x[..., order].chunk(2, dim=-1)
    cos = angles.cos().to(x.dtype).unsqueeze(-3)  # [*batch, 1, new, half]
    sin = angles.sin().to(x.dtype).unsqueeze(-3)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned[..., order.argsort()]


def rotate(
    x: Float[Tensor, "*batch heads new d_head"],
    positions: Int[Tensor, "*#batch new"],
    base: float = 10_000.0,
    layout: Layout = halves,
) -> Float[Tensor, "*batch heads new d_head"]:
    """Turn queries or keys by their positions; q . k then depends on the distance alone.

    Angles are made in float64: in float32 they drift by 4e-4 at position 10,000.
    """
    rates = frequencies(x.shape[-1], base).to(x.device)
    return turn(x, positions.unsqueeze(-1) * rates, layout)


def unrotate(
    x: Float[Tensor, "*batch heads new d_head"],
    positions: Int[Tensor, "*#batch new"],
    base: float = 10_000.0,
    layout: Layout = halves,
) -> Float[Tensor, "*batch heads new d_head"]:
    """Undo `rotate`: the same turn, backwards."""
    return rotate(x, -positions, base, layout)
