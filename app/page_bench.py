"""Measure the page: one server, one browser, every figure of one table taken in one run."""

import argparse
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil
import torch

from model.errors import BadInput
from model.toy.record import record

SENTENCE = "The black cat sees a white bird and the dog is very happy"
N_TRACES, N_LOADS, N_SENTENCES, N_ROUNDS, N_READERS = 40, 5, 40, 5, 12
START_WITHIN_S = 120


def run(args: argparse.Namespace) -> int:
    try:
        from app import page_measures  # noqa: PLC0415 -- needs a browser's driver
    except ImportError as error:
        raise BadInput(f"{error.name} is missing: pip install 'kvscroll[dev]'") from error

    found: dict[str, Any] = {"trace": traces()}
    with server() as (url, process), page_measures.chromium() as browser:
        found |= _of_loads(page_measures.loads(browser, url, N_LOADS))
        page = page_measures.opened(browser, url)
        found["typing_to_figure"] = _spread(page_measures.typing(page, N_SENTENCES))
        found["step_to_paint"] = _of_steps(page_measures.stepping(page, N_ROUNDS))
        page.context.close()
        found["reader"] = page_measures.readers(browser, url, process, N_READERS)
    found["machine"] = {"cores": psutil.cpu_count(), "load": psutil.getloadavg()[0]}
    print(json.dumps(found) if args.json else table(found))  # noqa: T201 -- a command's answer
    return 0


def traces() -> dict[str, Any]:
    """Both runs of a sentence of 12 words, recorded whole, in milliseconds."""
    torch.set_num_threads(1)
    n_words = len(record(SENTENCE).reading.tokens)
    taken = []
    for _ in range(N_TRACES):
        began = time.perf_counter()
        record(SENTENCE)
        taken.append(1000 * (time.perf_counter() - began))
    return {"n_words": n_words, "min_ms": min(taken), **_spread(taken)}


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    """Serve the page from a process of its own, on a free port, until the block ends."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait_for(f"http://localhost:{port}", process)
        yield f"http://localhost:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):  # noqa: S310
                return
        except OSError:
            time.sleep(0.1)
    raise BadInput(f"the server gave no answer within {START_WITHIN_S} s; try `kvscroll serve`")


def _spread(values: Sequence[float]) -> dict[str, Any]:
    p50, p95 = np.percentile(values, [50, 95])
    return {"p50_ms": float(p50), "p95_ms": float(p95), "n": len(values)}


def _of_steps(taken: Sequence[dict[str, float]]) -> dict[str, Any]:
    frames = np.percentile([one["frames"] for one in taken], [50, 95])
    return {
        "p50_frames": float(frames[0]),
        "p95_frames": float(frames[1]),
        "from_scroll": _spread([one["ms"] for one in taken]),
        **_spread([one["fromActive"] for one in taken]),
    }


def _of_loads(loads: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    def median(kind: str, name: str) -> float:
        return float(np.median([one[name] for one in loads[kind] if one[name] is not None]))

    first = loads["cold"][0]
    return {
        "first_paint": {f"{kind}_p50_ms": median(kind, "paint") for kind in loads},
        "idle": {f"{kind}_p50_ms": median(kind, "idle") for kind in loads},
        "weight": {
            "requests": first["requests"],
            "raw_bytes": first["raw"],
            "compressed_bytes": first["sent"],
        },
    }


def table(found: dict[str, Any]) -> str:
    """Lay the measures out for a reader, one a line."""
    trace, typed, step, reader = (
        found[name] for name in ("trace", "typing_to_figure", "step_to_paint", "reader")
    )
    paint, idle, weight = (found[name] for name in ("first_paint", "idle", "weight"))
    rows = [
        (f"trace, both runs, {trace['n_words']} words", _p(trace), f"least {trace['min_ms']:.1f}"),
        ("typing to figure", _p(typed), f"{typed['n']} sentences"),
        ("step active to paint", _p(step), f"{step['p95_frames']:.0f} frames at p95"),
        ("scroll to paint", _p(step["from_scroll"]), f"{step['n']} jumps"),
        ("first contentful paint", _cold_warm(paint), ""),
        ("page idle, wire up", _cold_warm(idle), ""),
        (
            "page weight",
            f"{weight['raw_bytes'] / 1e6:.2f} MB raw",
            f"{weight['compressed_bytes'] / 1e6:.2f} MB sent, {weight['requests']} requests",
        ),
        (
            "one more reader",
            f"{reader['cpu_ms']:.0f} ms of server CPU",
            f"{reader['memory_bytes'] / 1e6:.2f} MB, of {reader['n']}",
        ),
        ("machine", f"{found['machine']['cores']} cores", f"load {found['machine']['load']:.1f}"),
    ]
    return "\n".join(f"{name:30} {value:34} {more}" for name, value, more in rows)


def _p(spread: dict[str, Any]) -> str:
    return f"{spread['p50_ms']:.1f} ms p50, {spread['p95_ms']:.1f} ms p95"


def _cold_warm(of: dict[str, float]) -> str:
    return f"{of['cold_p50_ms']:.0f} ms cold, {of['warm_p50_ms']:.0f} ms warm"
