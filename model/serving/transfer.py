"""Moving a cache instead of computing it again: to slower memory, or to another machine."""

from dataclasses import dataclass

from model.costs import BF16, Formats, cache_bytes
from model.errors import BadInput
from model.hardware import Chip
from model.work import ModelWork

GBIT = 1e9 / 8


@dataclass(frozen=True, kw_only=True)
class Link:
    """A way to move bytes, at its nominal rate."""

    name: str
    bytes_per_s: float
    source: str

    def __post_init__(self) -> None:
        if self.bytes_per_s <= 0:
            message = f"{self.name} moves {self.bytes_per_s} bytes/s: it must be above 0"
            raise BadInput(message)


LINKS: dict[str, Link] = {
    "nvme": Link(name="NVMe drive", bytes_per_s=7e9, source="PCIe 4 x4 drives, read"),
    "200gbit": Link(name="200 Gb/s network", bytes_per_s=200 * GBIT, source="nominal"),
    "pcie4": Link(name="PCIe 4 x16", bytes_per_s=32e9, source="PCI-SIG, one direction"),
    "400gbit": Link(name="400 Gb/s network", bytes_per_s=400 * GBIT, source="nominal"),
    "pcie5": Link(name="PCIe 5 x16", bytes_per_s=64e9, source="PCI-SIG, one direction"),
    "nvlink": Link(name="NVLink 4", bytes_per_s=450e9, source="NVIDIA H100 page, one direction"),
}


def load_seconds(work: ModelWork, tokens: int, link: Link, formats: Formats = BF16) -> float:
    """Fetch a cache over a link (LMCache/LMCache; Mooncake, arXiv 2407.00079)."""
    return cache_bytes(work, tokens, formats) / link.bytes_per_s


def recompute_seconds(
    work: ModelWork, tokens: int, chip: Chip, *, efficiency: float = 0.5
) -> float:
    """Compute the same rows again: prefill at a share of the chip's peak."""
    if not 0 < efficiency <= 1:
        message = f"an efficiency of {efficiency} is not between 0 and 1"
        raise BadInput(message)
    return work.prefill_flops(tokens, logits=0) / (chip.peak("bfloat16") * efficiency)


def break_even_bytes_per_s(
    work: ModelWork, tokens: int, chip: Chip, *, efficiency: float = 0.5
) -> float:
    """Return the link rate above which loading beats computing again.

    Attention makes long prompts dearer to compute and no dearer to load, so it falls with
    the number of tokens.
    """
    seconds = recompute_seconds(work, tokens, chip, efficiency=efficiency)
    return cache_bytes(work, tokens) / seconds


def handover_bits_per_s(
    work: ModelWork, tokens: int, requests_per_s: float, formats: Formats = BF16
) -> float:
    """Return the load on the link between a prefill machine and a decode machine.

    Source: DistServe, arXiv 2401.09670; Splitwise, arXiv 2311.18677.
    """
    return 8 * cache_bytes(work, tokens, formats) * requests_per_s


def rows_read_in_chunks(tokens: int, chunk: int) -> int:
    """Key rows a prefill reads from the cache when it runs in chunks (Sarathi-Serve, 2403.02310).

    >>> rows_read_in_chunks(8192, 512), rows_read_in_chunks(8192, 8192)
    (69632, 8192)
    """
    if chunk < 1:
        message = f"chunks of {chunk} tokens never end: use at least 1"
        raise BadInput(message)
    return sum(min(stop, tokens) for stop in range(chunk, tokens + chunk, chunk))
