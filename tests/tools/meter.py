"""What readers cost the serving processes: memory, and processor time by its cause."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.tools.server import Front
from tests.tools.wire import Wire

BUSY = 0.03  # share of a core above which a server nobody visits is still building its pages
MOST_SILENCES = 6
SESSIONS_END_S = 35  # a session nobody uses is dropped by then
CALIBRATION, SILENCE_S = 20, 15  # readers, and seconds they are silent


@dataclass
class Meter:
    """Memory of the serving processes that are alive; processor time of all, ended ones too."""

    front: Front
    spent: dict[int, float] = field(default_factory=dict)

    def _alive(self) -> Iterator[psutil.Process]:
        for back in self.front.backs:
            if back.process.poll() is None:
                yield psutil.Process(back.process.pid)

    def mb(self) -> float:
        return sum(process.memory_info().rss for process in self._alive()) / 1e6

    def cpu_s(self) -> float:
        self.spent |= {one.pid: sum(one.cpu_times()[:2]) for one in self._alive()}
        return sum(self.spent.values())

    async def most_mb(self, during: asyncio.Task[Any]) -> float:
        most = self.mb()
        while not during.done():
            await asyncio.wait([during], timeout=1)
            most = max(most, self.mb())
            self.cpu_s()
        return most


async def calm(meter: Meter) -> tuple[float, float]:
    """Processor seconds at both ends of a silence in which nothing is being built any more."""
    before = after = meter.cpu_s()
    for _ in range(MOST_SILENCES):
        before = meter.cpu_s()
        await asyncio.sleep(SILENCE_S)
        if (after := meter.cpu_s()) - before < BUSY * SILENCE_S:
            break
    return before, after


async def calibrate(front: Front, meter: Meter) -> tuple[float, float]:
    """Processor milliseconds of one reader's coming and going, and of a minute's silence.

    What the server spends with nobody there is measured first and is no reader's.
    """
    before, start = await calm(meter)
    alone = (start - before) / SILENCE_S
    began = time.monotonic()
    wires = [await Wire.open(front.url) for _ in range(CALIBRATION)]
    connected, came_s = meter.cpu_s(), time.monotonic() - began
    await asyncio.sleep(SILENCE_S)
    silent = meter.cpu_s()
    for wire in wires:
        await wire.close()
    await asyncio.sleep(SESSIONS_END_S)
    quiet = (silent - connected) / SILENCE_S - alone
    coming = connected - start + meter.cpu_s() - silent - alone * (came_s + SESSIONS_END_S)
    return 1e3 * coming / CALIBRATION, 1e3 * quiet * 60 / CALIBRATION


@dataclass(frozen=True)
class Spent:
    """Processor time of a reader who asks nothing, and of all; memory before they came."""

    silent_ms: float
    all_ms: float
    rest_mb: float


def cost(
    readers: int, spent: Spent, full: list[float], after: list[float], answers: int
) -> dict[str, Any]:
    """What they cost: memory above rest with all readers there, and processor time by cause."""
    n_readers = readers * len(full)
    of_answers = spent.all_ms - spent.silent_ms * n_readers
    return {
        "rest_mb": round(spent.rest_mb, 1),
        "full_house_mb": [round(one, 1) for one in full],
        "after_wave_mb": [round(one, 1) for one in after],
        "mb_per_reader": round((full[0] - spent.rest_mb) / readers, 3),
        "second_wave_growth": round(after[-1] / after[0] - 1, 4),
        "cpu_ms_per_reader_without_answers": round(spent.silent_ms, 1),
        "cpu_ms_per_answer": round(of_answers / max(1, answers), 1),
        "cpu_ms_per_reader": round(spent.all_ms / n_readers, 1),
    }
