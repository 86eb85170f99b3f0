"""Start a kvscroll server for a measurement or a test, and stop it again."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


@dataclass(frozen=True)
class Running:
    """A server that answers: where, which process, and where its log goes."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(log: Path, *options: str, port: int | None = None, **environment: str) -> Running:
    """Start `kvscroll serve` and wait until its health address answers."""
    port = port or free_port()
    command = [sys.executable, "-m", "app", "serve", "--port", str(port), *options]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    running = Running(f"http://localhost:{port}", process, log)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped at once: {log.read_text()[-800:]}")
        if healthy(running.url):
            return running
        time.sleep(0.2)
    stop(running)
    raise RuntimeError(f"no answer within {PATIENCE_S} s: {log.read_text()[-800:]}")


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:  # noqa: S310 -- ours
            return answer.status == 200
    except OSError:
        return False


def stop(running: Running) -> int:
    """Ask it to stop as Ctrl-C would; returns the exit status."""
    running.process.terminate()
    try:
        return running.process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        running.process.kill()
        return running.process.wait()


@contextmanager
def serving(log: Path, *options: str) -> Iterator[Running]:
    running = start(log, *options)
    try:
        yield running
    finally:
        stop(running)
