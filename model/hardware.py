"""How fast some chips can read and calculate, each number with where it was published.

Rates are the makers' peaks for dense matrices (figures with sparsity are twice as high and
left out), in FLOP/s and bytes/s; capacities are decimal bytes, as on data sheets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One device. `flops_per_s` is keyed by number format; `nbytes` is None where it varies."""

    name: str
    flops_per_s: Mapping[str, float]
    bytes_per_s: float
    nbytes: float | None
    source: str

    def __post_init__(self) -> None:
        if min(self.bytes_per_s, *self.flops_per_s.values()) <= 0:
            message = (
                f"{self.name}: {self.bytes_per_s} bytes/s and {dict(self.flops_per_s)} FLOP/s "
                f"must be above 0"
            )
            raise BadInput(message)
        object.__setattr__(self, "flops_per_s", MappingProxyType(dict(self.flops_per_s)))

    def peak(self, number_format: str) -> float:
        """FLOP/s in a format, refused by name where it is not known."""
        if number_format not in self.flops_per_s:
            known = ", ".join(self.flops_per_s)
            message = f"{self.name} has no {number_format} rate here: use one of {known}"
            raise BadInput(message)
        return self.flops_per_s[number_format]

    def ridge(self, number_format: str = "bfloat16") -> float:
        """FLOPs per byte from which arithmetic, not memory, is the limit."""
        return self.peak(number_format) / self.bytes_per_s

    def attainable(self, flops_per_byte: float, number_format: str = "bfloat16") -> float:
        """Return the roof of the roofline: FLOP/s at this intensity (Williams et al., 2009)."""
        return min(self.peak(number_format), flops_per_byte * self.bytes_per_s)


GB, TB, T = 1e9, 1e12, 1e12

CHIPS: dict[str, Chip] = {
    "a100": Chip(
        name="NVIDIA A100 SXM 80 GB",
        flops_per_s={"bfloat16": 312 * T, "float16": 312 * T, "int8": 624 * T},
        bytes_per_s=2.039 * TB,
        nbytes=80 * GB,
        source="NVIDIA A100 data sheet; stas00/ml-engineering compute/accelerator",
    ),
    "h100": Chip(
        name="NVIDIA H100 SXM",
        flops_per_s={"bfloat16": 989.4 * T, "float16": 989.4 * T, "float8": 1978.9 * T},
        bytes_per_s=3.35 * TB,
        nbytes=80 * GB,
        source="NVIDIA H100 page (its 1,979 is with sparsity); stas00/ml-engineering",
    ),
    "h200": Chip(
        name="NVIDIA H200 SXM",
        flops_per_s={"bfloat16": 989.4 * T, "float16": 989.4 * T, "float8": 1978.9 * T},
        bytes_per_s=4.8 * TB,
        nbytes=141 * GB,
        source="NVIDIA H200 page; stas00/ml-engineering compute/accelerator",
    ),
    "b200": Chip(
        name="NVIDIA B200 SXM",
        flops_per_s={"bfloat16": 2_250 * T, "float16": 2_250 * T, "float8": 4_500 * T},
        bytes_per_s=8 * TB,
        nbytes=180 * GB,
        source="NVIDIA DGX B200 data sheet (7.7 to 8 TB/s, 180 to 192 GB by product)",
    ),
    "mi300x": Chip(
        name="AMD MI300X",
        flops_per_s={"bfloat16": 1_307.4 * T, "float16": 1_307.4 * T, "float8": 2_614.9 * T},
        bytes_per_s=5.3 * TB,
        nbytes=192 * GB,
        source="AMD MI300X page; stas00/ml-engineering compute/accelerator",
    ),
    "rtx4090": Chip(
        name="NVIDIA RTX 4090",
        flops_per_s={"bfloat16": 165.2 * T, "float16": 165.2 * T},
        bytes_per_s=1.008 * TB,
        nbytes=24 * GB,
        source="NVIDIA Ada architecture white paper (float32 accumulation)",
    ),
    "tpu-v5e": Chip(
        name="Google TPU v5e",
        flops_per_s={"bfloat16": 197 * T, "int8": 394 * T},
        bytes_per_s=0.82 * TB,
        nbytes=16 * GB,
        source="jax-ml/scaling-book, tpus.md",
    ),
    "m4-max": Chip(
        name="Apple M4 Max (40-core GPU)",
        flops_per_s={"bfloat16": 17 * T, "float16": 17 * T, "float32": 17 * T},
        bytes_per_s=0.546 * TB,
        nbytes=128 * GB,
        source="Apple M4 Max page for memory; the rate is derived from its shader count",
    ),
}
