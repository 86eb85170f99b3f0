"""Eight-bit integers, symmetric, with one float32 scale per row (token and head)."""

import torch

from model.storage.codecs.base import Codec, RowBytes, Rows, as_bytes, from_bytes

LARGEST = 127


class Int8(Codec):
    """x is about code * scale, scale = max|x| / 127; off by at most scale / 2."""

    def row_bytes(self, width: int) -> int:
        return width + torch.float32.itemsize

    def encode(self, x: Rows) -> RowBytes:
        scale = (x.abs().amax(dim=-1, keepdim=True).double() / LARGEST).float()
        scale = scale.clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros has no scale
        codes = (x.double() / scale.double()).round().clamp(-LARGEST, LARGEST).to(torch.int8)
        return torch.cat([as_bytes(codes), as_bytes(scale)], dim=-1)

    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        codes = from_bytes(rows[..., :width], torch.int8)
        scale = from_bytes(rows[..., width:], torch.float32)
        return (codes.double() * scale.double()).to(dtype)
