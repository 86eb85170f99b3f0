"""Small floating point in blocks that share a scale of eight bits: FP4 and the MX formats."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from model.storage.codecs.base import Codec, RowBytes, Rows, check_blocks
from model.storage.codecs.minifloat import E2M1, E4M3, MiniFloat
from model.storage.codecs.packing import pack, unpack


@dataclass(frozen=True)
class Fp4(Codec):
    """Blocks of 16 with an E4M3 scale: 4.5 bits a number (DeepSeek-V4.1's main cache).

    The scale is E4M3(max|x| / 6). Off by at most the scale, where that is a normal number;
    blocks beyond 6 * 448 = 2,688 saturate.
    """

    block: int = 16

    def row_bytes(self, width: int) -> int:
        check_blocks(width, self.block)
        return width // 2 + width // self.block

    def encode(self, x: Rows) -> RowBytes:
        check_blocks(x.shape[-1], self.block)
        blocks = x.double().unflatten(-1, (-1, self.block))
        smallest = E2M1.largest * float(E4M3.magnitudes[1])  # keeps the scale above zero
        largest = blocks.abs().amax(dim=-1).clamp(min=smallest)
        scale_codes = E4M3.encode(largest / E2M1.largest)
        codes = E2M1.encode(blocks / E4M3.decode(scale_codes).unsqueeze(-1))
        return torch.cat([pack(codes.flatten(-2), E2M1.n_bits), scale_codes], dim=-1)

    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        codes, scale_codes = rows.tensor_split([width // 2], dim=-1)
        return _scaled(E2M1, codes, E4M3.decode(scale_codes)).to(dtype)


@dataclass(frozen=True)
class Mx(Codec):
    """Blocks of 32 with a power-of-two scale (E8M0): MXFP4 has 4.25 bits a number, MXFP8 8.25.

    The scale is 2^ceil(log2(max|x| / largest)), so nothing is clamped (DeepSeek's rule; OCP's
    own takes the floor of log2 max|x| and clamps). MXFP4 is off by at most the scale.
    """

    number: MiniFloat = E2M1
    block: int = 32

    def row_bytes(self, width: int) -> int:
        check_blocks(width, self.block)
        return width * self.number.n_bits // 8 + width // self.block

    def encode(self, x: Rows) -> RowBytes:
        check_blocks(x.shape[-1], self.block)
        blocks = x.double().unflatten(-1, (-1, self.block))
        fraction, exponent = torch.frexp(blocks.abs().amax(dim=-1) / self.number.largest)
        exponent = torch.where(fraction == 0.5, exponent - 1, exponent)  # noqa: PLR2004 - 2^(e-1)
        exponent = torch.where(fraction == 0, -E8M0_BIAS, exponent).clamp(-E8M0_BIAS, E8M0_BIAS)
        codes = self.number.encode(blocks / torch.exp2(exponent.double()).unsqueeze(-1))
        scale_codes = (exponent + E8M0_BIAS).to(torch.uint8)
        return torch.cat([pack(codes.flatten(-2), self.number.n_bits), scale_codes], dim=-1)

    def decode(self, rows: RowBytes, width: int, dtype: torch.dtype) -> Rows:
        codes, scale_codes = rows.tensor_split([width * self.number.n_bits // 8], dim=-1)
        scales = torch.exp2(scale_codes.double() - E8M0_BIAS)
        return _scaled(self.number, codes, scales).to(dtype)


E8M0_BIAS = 127


def _scaled(number: MiniFloat, codes: RowBytes, scales: Float[Tensor, "*rows blocks"]) -> Rows:
    values = number.decode(unpack(codes, number.n_bits))
    return (values.unflatten(-1, (scales.shape[-1], -1)) * scales.unsqueeze(-1)).flatten(-2)
