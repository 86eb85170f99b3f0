"""Readers that load a lesson, read, and type, over the real websocket.

``python -m tests.tools.load`` lets 100 readers arrive two a second, stay ten minutes and leave,
and then 100 more, and prints what they saw and what they cost the server; ``--json`` as JSON.
``--nginx`` puts two processes behind the configuration that ships; ``--kill`` ends one of them
half way, as a crash would, and counts the readers who find their sentence again at the other.

A reader types a word of a new sentence every 15 to 30 seconds, five letters a second, and the page
asks for a run at each letter and for the comparisons when the typing pauses. Scrolling asks
nothing of a server, for every frame of a run is in the browser (a browser test unplugs it).
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient

from tests.tools.meter import SESSIONS_END_S, Meter, Spent, calibrate, cost
from tests.tools.server import Front, behind_nginx, serving
from tests.tools.wire import Wire, WireError

SENTENCES = (
    "the black cat sees a white bird",
    "my dog is very happy",
    "she does not eat the red apple",
    "we like the quick brown fox",
)
ARRIVALS_PER_SECOND = 2
BETWEEN_BURSTS_S = (15.0, 30.0)
KEY_PAUSE_S = 0.2
PAUSE_S = 0.3  # after which the page asks for the comparisons
KNOCK_S = 2.0  # how often a page without a server looks whether it is back
MOST_GROWTH, MOST_LOAD_S = 0.10, 1.0


@dataclass
class Seen:
    """What the readers saw, in seconds, and what went wrong."""

    loads: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lost: int = 0

    def extend(self, other: "Seen") -> None:
        for name in ("loads", "answers", "recoveries", "errors"):
            getattr(self, name).extend(getattr(other, name))
        self.lost += other.lost


@dataclass
class Reader:
    """One person at a page; ``patient`` ones wait for a lost server as the page does."""

    url: str
    seen: Seen
    until: float
    chance: random.Random
    patient: bool
    sentence: str = SENTENCES[0]

    async def read(self) -> None:
        try:
            wire = await Wire.open(self.url)
            self.seen.loads.append(wire.load_s)
            while (left := self.until - time.monotonic()) > 0:
                try:
                    await self._stay(wire, min(left, self.chance.uniform(*BETWEEN_BURSTS_S)))
                    if time.monotonic() < self.until:
                        await self._type_a_word(wire)
                except WireError:
                    if not self.patient:
                        raise
                    wire = await self._come_back(wire)
            await wire.close()
        except Exception as error:  # noqa: BLE001 -- whatever happens to a reader is counted
            self.seen.errors.append(f"{type(error).__name__}: {error}")

    @staticmethod
    async def _stay(wire: Wire, seconds: float) -> None:
        """Read and scroll: nothing is asked, and what the server says by itself is heard."""
        try:
            await asyncio.wait_for(wire.until("nothing"), seconds)
        except TimeoutError:
            return

    async def _type_a_word(self, wire: Wire) -> None:
        stem, _, word = self.chance.choice(SENTENCES).rpartition(" ")
        word += str(self.chance.randrange(1000))
        for end in range(1, len(word) + 1):
            self.sentence = f"{stem} {word[:end]}"
            await self._ask(wire, "run")
            await asyncio.sleep(KEY_PAUSE_S)
        await asyncio.sleep(PAUSE_S)
        await self._ask(wire, "extras")

    async def _ask(self, wire: Wire, part: str) -> None:
        reply, took = await asyncio.wait_for(wire.ask(self.sentence, part), 60)
        self.seen.answers.append(took)
        if part not in reply and "message" not in reply:
            self.seen.errors.append("a reply without a run")

    async def _come_back(self, lost: Wire) -> Wire:
        """Knock as a page does, load it anew, and ask for the sentence that the address keeps."""
        began = time.monotonic()
        self.seen.lost += 1
        await lost.close()
        while not await self._answers(lost.cookie):  # noqa: ASYNC110 -- it is polled, as the page does
            await asyncio.sleep(KNOCK_S)
        wire = await Wire.open(self.url, cookie=lost.cookie)
        reply, _ = await asyncio.wait_for(wire.ask(self.sentence), 60)
        if reply["run"]["text"] != self.sentence:
            self.seen.errors.append("another sentence came back")
        self.seen.recoveries.append(time.monotonic() - began)
        return wire

    async def _answers(self, cookie: str) -> bool:
        try:
            await AsyncHTTPClient().fetch(f"{self.url}/health", headers={"Cookie": cookie})
        except Exception:  # noqa: BLE001 -- any failure is a server that is away
            return False
        return True


async def wave(url: str, readers: int, minutes: float, seed: int, *, patient: bool) -> Seen:
    """Readers arrive, each stays its minutes, all leave."""
    seen, tasks = Seen(), []
    for number in range(readers):
        chance = random.Random(seed * 10_000 + number)  # noqa: S311 -- a workload, not a secret
        until = time.monotonic() + minutes * 60
        reader = Reader(url, seen, until, chance, patient)
        tasks.append(asyncio.create_task(reader.read()))
        await asyncio.sleep(1 / ARRIVALS_PER_SECOND)
    await asyncio.gather(*tasks)
    return seen


@contextmanager
def house(folder: Path, *, nginx: bool) -> Iterator[Front]:
    if nginx:
        with behind_nginx(folder) as front:
            yield front
        return
    with serving(folder / "log") as server:
        yield Front(server.url, (server,))


async def kill_later(front: Front, seconds: float) -> None:
    await asyncio.sleep(seconds)
    front.backs[0].process.kill()


async def measure(
    readers: int, minutes: float, waves: int, *, nginx: bool = False, kill: bool = False
) -> dict[str, Any]:
    """Run the waves against a house of our own; memory and CPU are its processes'."""
    with tempfile.TemporaryDirectory() as folder, house(Path(folder), nginx=nginx) as front:
        meter, seen, ends = Meter(front), Seen(), []
        coming_ms, minute_ms = await calibrate(front, meter)
        rest, cpu, full, after = meter.mb(), meter.cpu_s(), [], []
        for number in range(waves):
            under_way = asyncio.create_task(wave(front.url, readers, minutes, number, patient=kill))
            if kill and number == 0:
                seconds = minutes * 30 + readers / ARRIVALS_PER_SECOND / 2
                ends.append(asyncio.create_task(kill_later(front, seconds)))
            full.append(await meter.most_mb(under_way))
            seen.extend(under_way.result())
            await asyncio.sleep(SESSIONS_END_S)
            after.append(meter.mb())
        await asyncio.gather(*ends)
        spent = Spent(coming_ms + minute_ms * minutes, 1e3 * (meter.cpu_s() - cpu), rest)
        logs = "".join(back.log.read_text() for back in front.backs)
        return report(seen, logs) | cost(readers, spent, full, after, len(seen.answers))


def percentile_ms(seconds: list[float], share: float) -> float | None:
    """Return the value below which this share of them lies, None where nothing was measured."""
    if not seconds:
        return None
    return round(1e3 * sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))], 1)


def report(seen: Seen, logs: str) -> dict[str, Any]:
    """What the readers saw."""
    return {
        "readers": len(seen.loads),
        "errors": len(seen.errors),
        "first_errors": seen.errors[:3],
        "tracebacks_in_log": logs.count("Traceback"),
        "load_p50_ms": percentile_ms(seen.loads, 0.5),
        "load_p95_ms": percentile_ms(seen.loads, 0.95),
        "answers": len(seen.answers),
        "typing_p50_ms": percentile_ms(seen.answers, 0.5),
        "typing_p95_ms": percentile_ms(seen.answers, 0.95),
        "wires_lost": seen.lost,
        "recovered": len(seen.recoveries),
        "recovery_p95_ms": percentile_ms(seen.recoveries, 0.95),
    }


def faults(found: dict[str, Any]) -> Iterator[str]:
    """What may not be, whatever the machine; times are for a quiet one and are only printed."""
    if found["errors"] or found["tracebacks_in_log"]:
        yield f"{found['errors']} errors, {found['tracebacks_in_log']} tracebacks"
    if found["recovered"] != found["wires_lost"]:
        yield f"{found['wires_lost']} wires lost, {found['recovered']} recovered"
    if found["second_wave_growth"] >= MOST_GROWTH:
        yield f"memory grew by {found['second_wave_growth']:.1%} with the second wave"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--waves", type=int, default=2)
    parser.add_argument("--nginx", action="store_true", help="two processes behind nginx")
    parser.add_argument("--kill", action="store_true", help="end one of the two half way")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.kill and not args.nginx:
        parser.error("--kill needs --nginx: somebody must answer when one process is gone")
    told = measure(args.readers, args.minutes, args.waves, nginx=args.nginx, kill=args.kill)
    found = asyncio.run(told)
    lines = [json.dumps(found)] if args.json else [f"{k:34} {v}" for k, v in found.items()]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if (found["load_p95_ms"] or 0) > 1e3 * MOST_LOAD_S:
        sys.stderr.write(f"loading took {found['load_p95_ms']} ms at p95, more than a second\n")
    missed = list(faults(found))
    sys.stderr.writelines(f"{line}\n" for line in missed)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
