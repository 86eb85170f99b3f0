"""A codec: one row of numbers to one row of bytes, scales included, and back."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from model.errors import BadInput

Rows = Float[Tensor, "*rows width"]
RowBytes = UInt8[Tensor, "*rows n_bytes"]


class Codec(ABC):
    """Each row (one token, one head) is coded alone, so rows can be dropped, kept, reordered."""

    @abstractmethod
    def row_bytes(self, width: int) -> int:
        """Bytes one row of `width` numbers takes, its scales counted."""

    @abstractmethod
    def encode(self, x: Rows) -> RowBytes:
        """Round every row to the nearest codes, ties to even."""

    @abstractmethod
    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        """Give back the numbers the codes stand for."""

    def bits_per_value(self, width: int) -> float:
        """Average bits a number costs in a row of `width`, scales counted."""
        return 8 * self.row_bytes(width) / width


def check_blocks(width: int, block: int) -> None:
    """Refuse rows that do not divide into blocks."""
    if width % block:
        message = (
            f"a row of {width} numbers does not divide into blocks of {block}: "
            f"use a width that is a multiple of {block}"
        )
        raise BadInput(message)


def as_bytes(x: Tensor) -> UInt8[Tensor, "*rows n_bytes"]:
    """See the last axis as the bytes it is made of."""
    return x.contiguous().view(torch.uint8)


def from_bytes(rows: UInt8[Tensor, "*rows n_bytes"], dtype: torch.dtype) -> Tensor:
    """Undo `as_bytes`. Copies, because a slice of a row may start at any byte."""
    return rows.clone(memory_format=torch.contiguous_format).view(dtype)
