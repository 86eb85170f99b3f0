"""Start a kvscroll server for a measurement or a test, alone or two behind nginx; stop it again."""

import os
import re
import shutil
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
NGINX = shutil.which("nginx")
PORTS_OF_THE_SHIPPED_FILE = (5100, 5101, 5102)  # the front, and the two behind it


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


@dataclass(frozen=True)
class Front:
    """An address, and the processes that answer there."""

    url: str
    backs: tuple[Running, ...]


@contextmanager
def behind_nginx(folder: Path) -> Iterator[Front]:
    """Two processes behind the nginx configuration that ships, each port one that is free."""
    ports = [free_port() for _ in PORTS_OF_THE_SHIPPED_FILE]
    url = f"http://localhost:{ports[0]}"
    allowed = ("--allow-origin", f"localhost:{ports[0]}")
    backs = tuple(
        start(folder / f"log{port}", *allowed, port=port, KVSCROLL_SECRET="the same for both")  # noqa: S106
        for port in ports[1:]
    )
    proxy = _nginx(folder, ports)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not healthy(url) and time.monotonic() < deadline:
            time.sleep(0.1)
        yield Front(url, backs)
    finally:
        proxy.terminate()
        proxy.wait(timeout=10)
        for back in backs:
            stop(back)


def _nginx(folder: Path, ports: list[int]) -> subprocess.Popen[bytes]:
    if NGINX is None:
        raise RuntimeError("nginx is not installed: apt-get install nginx-light")
    config = (ROOT / "deploy" / "nginx.conf").read_text()
    for old, new in zip(PORTS_OF_THE_SHIPPED_FILE, ports, strict=True):
        config = re.sub(rf"\b{old}\b", str(new), config)
    (folder / "nginx.conf").write_text(config)
    (folder / "run").mkdir()
    return subprocess.Popen([NGINX, "-p", str(folder), "-c", "nginx.conf"])
