"""Readers that load a lesson, read, and type, over the real websocket.

``python -m tests.tools.load --readers 100 --minutes 10 --waves 2`` starts a server, lets readers
arrive two a second, and prints what it measured as a table and, with ``--json``, as JSON.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.tools.server import serving
from tests.tools.wire import Wire, WireError

SENTENCES = (
    "the black cat sees a white bird",
    "my dog is very happy",
    "she does not eat the red apple",
    "we like the quick brown fox",
)
ARRIVALS_PER_SECOND = 2
KEY_PAUSE_S = 0.18


@dataclass
class Seen:
    """What the readers saw, in seconds, and what went wrong."""

    loads: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    tracebacks: int = 0


async def read_and_type(url: str, seen: Seen, until: float, chance: random.Random) -> None:
    """One reader: load, then think and type a sentence, letter by letter, until time is up."""
    try:
        wire = await Wire.open(url)
        seen.loads.append(wire.load_s)
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(2, 8))  # reading; scrolling asks nothing of a server
            await type_sentence(wire, seen, f"{chance.choice(SENTENCES)} {chance.randrange(1000)}")
        await wire.close()
    except (WireError, OSError, TimeoutError) as error:
        seen.errors.append(f"{type(error).__name__}: {error}")


async def type_sentence(wire: Wire, seen: Seen, sentence: str) -> None:
    for end in range(1, len(sentence) + 1, 3):
        reply, took = await asyncio.wait_for(wire.ask(sentence[:end]), 60)
        seen.answers.append(took)
        if "run" not in reply and "message" not in reply:
            seen.errors.append("a reply without a run")
        await asyncio.sleep(KEY_PAUSE_S)


async def wave(url: str, readers: int, minutes: float, seen: Seen, seed: int) -> None:
    until = time.monotonic() + minutes * 60
    tasks = []
    for number in range(readers):
        chance = random.Random(seed * 10_000 + number)  # noqa: S311 -- a workload, not a secret
        tasks.append(asyncio.create_task(read_and_type(url, seen, until, chance)))
        await asyncio.sleep(1 / ARRIVALS_PER_SECOND)
    await asyncio.gather(*tasks)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


async def measure(readers: int, minutes: float, waves: int) -> dict[str, Any]:
    """Run the waves against a server of our own; memory and CPU are that process's."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        process = psutil.Process(server.process.pid)
        rest, cpu = process.memory_info().rss, sum(process.cpu_times()[:2])
        rows, seen_all = [], Seen()
        for number in range(waves):
            seen = Seen()
            await wave(server.url, readers, minutes, seen, number)
            rows.append(process.memory_info().rss)
            for name in ("loads", "answers", "errors"):
                getattr(seen_all, name).extend(getattr(seen, name))
        spent = sum(process.cpu_times()[:2]) - cpu
        seen_all.tracebacks = server.log.read_text().count("Traceback")
    return report(seen_all) | cost(readers * waves, rest, rows, spent)


def report(seen: Seen) -> dict[str, Any]:
    """What the readers saw."""
    return {
        "readers": len(seen.loads),
        "errors": len(seen.errors),
        "first_errors": seen.errors[:3],
        "tracebacks_in_log": seen.tracebacks,
        "load_p50_ms": round(1e3 * statistics.median(seen.loads or [float("nan")]), 1),
        "load_p95_ms": round(1e3 * percentile(seen.loads, 0.95), 1),
        "answers": len(seen.answers),
        "typing_p50_ms": round(1e3 * statistics.median(seen.answers or [float("nan")]), 1),
        "typing_p95_ms": round(1e3 * percentile(seen.answers, 0.95), 1),
    }


def cost(n_readers: int, rest: int, waves: list[int], cpu_s: float) -> dict[str, Any]:
    """What they cost the server: memory over its resting size, and processor time."""
    return {
        "mb_per_reader": round((waves[0] - rest) / 1e6 / (n_readers / len(waves)), 3),
        "second_wave_growth": round(waves[-1] / waves[0] - 1, 4),
        "server_cpu_ms_per_reader": round(1e3 * cpu_s / n_readers, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--waves", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = asyncio.run(measure(args.readers, args.minutes, args.waves))
    if args.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.writelines(f"{name:28} {value}\n" for name, value in found.items())
    return 1 if found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
