"""Eight-bit floating point, as a plain cast or with one float32 scale per row."""

from dataclasses import dataclass

import torch

from model.storage.codecs.base import Codec, RowBytes, Rows, as_bytes, from_bytes
from model.storage.codecs.minifloat import E4M3, MiniFloat


@dataclass(frozen=True)
class Fp8(Codec):
    """Each number on its own, scale 1: 8 bits, saturating at the format's largest number."""

    number: MiniFloat = E4M3

    def row_bytes(self, width: int) -> int:
        return width

    def encode(self, x: Rows) -> RowBytes:
        return self.number.encode(x)

    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        return self.number.decode(rows[..., :width]).to(dtype)


@dataclass(frozen=True)
class ScaledFp8(Codec):
    """Each row stretched so that its largest number is the format's largest."""

    number: MiniFloat = E4M3

    def row_bytes(self, width: int) -> int:
        return width + torch.float32.itemsize

    def encode(self, x: Rows) -> RowBytes:
        scale = (x.abs().amax(dim=-1, keepdim=True).double() / self.number.largest).float()
        scale = scale.clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros has no scale
        codes = self.number.encode(x.double() / scale.double())
        return torch.cat([codes, as_bytes(scale)], dim=-1)

    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        scale = from_bytes(rows[..., width:], torch.float32)
        return (self.number.decode(rows[..., :width]) * scale.double()).to(dtype)
