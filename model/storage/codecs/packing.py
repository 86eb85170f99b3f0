"""Several small codes in one byte, the first in the lowest bits."""

import torch
from jaxtyping import UInt8
from torch import Tensor

from model.storage.codecs.base import check_blocks


def pack(codes: UInt8[Tensor, "*rows n"], n_bits: int) -> UInt8[Tensor, "*rows n_bytes"]:
    """Put 8 / n_bits neighbouring codes into each byte.

    >>> pack(torch.tensor([1, 2, 3, 15], dtype=torch.uint8), 4).tolist()
    [33, 243]
    """
    per_byte = 8 // n_bits
    check_blocks(codes.shape[-1], per_byte)
    groups = codes.unflatten(-1, (-1, per_byte))
    packed = torch.zeros_like(groups[..., 0])
    for place in range(per_byte):
        packed |= groups[..., place] << (place * n_bits)
    return packed


def unpack(packed: UInt8[Tensor, "*rows n_bytes"], n_bits: int) -> UInt8[Tensor, "*rows n"]:
    """Undo `pack`.

    >>> unpack(torch.tensor([33, 243], dtype=torch.uint8), 4).tolist()
    [1, 2, 3, 15]
    """
    lowest = (1 << n_bits) - 1
    places = [(packed >> shift) & lowest for shift in range(0, 8, n_bits)]
    return torch.stack(places, dim=-1).flatten(-2)
