"""Floating point in 4 or 8 bits: every code's value from three numbers, and back.

Source: OCP 8-bit floating point specification; OCP microscaling (MX) formats specification.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, UInt8
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class MiniFloat:
    """Sign, exponent and mantissa bits; `n_magnitudes` codes from zero up are finite numbers.

    Numbers beyond the largest saturate (a cache must not turn into infinities); NaN stays
    NaN where the format has one.
    """

    exponent_bits: int
    mantissa_bits: int
    n_magnitudes: int
    nan_code: int | None

    @property
    def n_bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @cached_property
    def magnitudes(self) -> Float[Tensor, " codes"]:
        """Value of each code without its sign bit, ascending, in float64.

        >>> E2M1.magnitudes.tolist()
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        """
        code = torch.arange(self.n_magnitudes)
        exponent, mantissa = code >> self.mantissa_bits, code & ((1 << self.mantissa_bits) - 1)
        bias = (1 << (self.exponent_bits - 1)) - 1
        leading = (exponent > 0).double()  # subnormals have no leading one
        fraction = leading + mantissa / (1 << self.mantissa_bits)
        return fraction * torch.exp2((exponent.clamp(min=1) - bias).double())

    @property
    def largest(self) -> float:
        """The largest finite number: 448 for E4M3, 57,344 for E5M2, 6 for E2M1."""
        return float(self.magnitudes[-1])

    @cached_property
    def values(self) -> Float[Tensor, " codes"]:
        """Value of every code, sign bit included; NaN where a code is no finite number."""
        unsigned = torch.full((1 << (self.n_bits - 1),), torch.nan, dtype=torch.float64)
        unsigned[: self.n_magnitudes] = self.magnitudes
        return torch.cat([unsigned, -unsigned])

    def encode(self, x: Float[Tensor, "*shape"]) -> UInt8[Tensor, "*shape"]:
        """Round to the nearest code, ties to the even one, beyond the largest to the largest."""
        magnitudes = self.magnitudes.to(x.device)
        middles = (magnitudes[1:] + magnitudes[:-1]) / 2
        size = x.abs().double().contiguous()
        code = torch.searchsorted(middles, size)  # a tie lands on the lower code
        tie = size == middles[code.clamp(max=len(middles) - 1)]
        code = code + (tie & (code % 2 == 1))
        if self.nan_code is not None:
            code = code.masked_fill(size.isnan(), self.nan_code)
        sign = torch.signbit(x).to(torch.uint8) << (self.n_bits - 1)
        return code.to(torch.uint8) | sign

    def decode(self, codes: UInt8[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Look the codes up, in float64."""
        return self.values.to(codes.device)[codes.long()]


E4M3 = MiniFloat(exponent_bits=4, mantissa_bits=3, n_magnitudes=127, nan_code=0x7F)
E5M2 = MiniFloat(exponent_bits=5, mantissa_bits=2, n_magnitudes=124, nan_code=0x7F)
E2M1 = MiniFloat(exponent_bits=2, mantissa_bits=1, n_magnitudes=8, nan_code=None)
