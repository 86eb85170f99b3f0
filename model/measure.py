"""The machine at hand in the roofline: how fast it reads, copies and multiplies, timed now."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from model.errors import BadInput
from model.hardware import Chip

Progress = Callable[[float, str], bool]
"""Told the share done (0 to 1) and what is being timed; answers whether to go on."""


class CancelledError(Exception):
    """The caller asked to stop; nothing is left running."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Bounds of a measurement: memory it may take, and seconds for each thing timed."""

    nbytes: int = 256 * 2**20
    seconds_each: float = 0.8
    matrix: int = 1_024
    device: str = "cpu"
    dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)

    def __post_init__(self) -> None:
        if self.nbytes < SMALLEST or self.matrix < 1 or self.seconds_each < 0:
            message = (
                f"{self.nbytes} bytes, {self.seconds_each} s and matrices of {self.matrix} "
                f"measure nothing: use at least {SMALLEST} bytes, 0 s and 1"
            )
            raise BadInput(message)


SMALLEST = 2**16


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was found: the best of all repeats, in bytes/s and FLOP/s."""

    device: str
    threads: int
    read_bytes_per_s: float
    copy_bytes_per_s: float  # bytes read plus bytes written
    flops_per_s: dict[str, float]

    @property
    def chip(self) -> Chip:
        """Place it among the published chips; its memory size plays no part."""
        return Chip(
            name=f"this machine ({self.device}, {self.threads} threads)",
            flops_per_s=self.flops_per_s,
            bytes_per_s=max(self.read_bytes_per_s, self.copy_bytes_per_s),
            nbytes=None,
            source="measured just now",
        )


def measure(plan: Plan | None = None, progress: Progress = lambda _share, _what: True) -> Measured:
    """Time reading, copying and matrix products; half of `nbytes` is read, half written.

    Takes about seconds_each times (2 + number of dtypes). Raises CancelledError between two
    repeats when `progress` answers False.
    """
    plan = plan or Plan()
    half = plan.nbytes // 2 // 4
    source = torch.ones(half, device=plan.device)
    target = torch.empty_like(source)
    jobs: list[tuple[str, Callable[[], object], float]] = [
        ("reading memory", source.sum, source.nbytes),
        ("copying memory", lambda: target.copy_(source), 2 * source.nbytes),
    ]
    for dtype in plan.dtypes:
        matrix = torch.ones(plan.matrix, plan.matrix, device=plan.device, dtype=dtype)
        name = str(dtype).removeprefix("torch.")
        jobs.append((name, _product_of(matrix), 2 * plan.matrix**3))
    rates = {}
    for number, (name, job, amount) in enumerate(jobs):
        if not progress(number / len(jobs), name):
            raise CancelledError(name)
        seconds = _fastest(job, plan, lambda n=number, what=name: progress(n / len(jobs), what))
        rates[name] = amount / seconds
    progress(1.0, "done")
    return Measured(
        device=plan.device,
        threads=torch.get_num_threads(),
        read_bytes_per_s=rates.pop("reading memory"),
        copy_bytes_per_s=rates.pop("copying memory"),
        flops_per_s=rates,
    )


def _product_of(matrix: torch.Tensor) -> Callable[[], object]:
    return lambda: matrix @ matrix


def _fastest(job: Callable[[], object], plan: Plan, go_on: Callable[[], bool]) -> float:
    """Seconds of the fastest repeat within the time allowed; the first one warms up."""
    job()
    end, best = time.perf_counter() + plan.seconds_each, float("inf")
    while True:
        _wait_for(plan.device)
        start = time.perf_counter()
        job()
        _wait_for(plan.device)
        now = time.perf_counter()
        best = min(best, max(now - start, 1e-9))
        if now >= end:
            return best
        if not go_on():
            what = "cancelled while timing"
            raise CancelledError(what)


def _wait_for(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.startswith("mps"):
        torch.mps.synchronize()
