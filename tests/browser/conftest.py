"""One server and one Chromium for all browser tests; every page they open is watched."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

from app.lessons import Step

ROOT = Path(__file__).parents[2]
PROBES = Path(__file__).with_name("probes.js")
LOCAL = ("http://localhost:", "ws://localhost:", "data:", "blob:", "file:", "about:")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"
PATIENCE_S = 90  # a busy machine starts a server slowly


class Server:
    """The page's own server as a process of its own, on a port that was free."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            self.port = probe.getsockname()[1]
        self.base = f"http://localhost:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve", "--port", str(self.port)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with status {self.process.returncode}")
            try:
                with urllib.request.urlopen(f"{self.base}/health", timeout=2):  # noqa: S310
                    return
            except OSError:
                time.sleep(0.2)
        raise TimeoutError(f"no server at {self.base} after {PATIENCE_S} s")

    def kill(self) -> None:
        """End it as a crash would: no goodbye to anyone."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


class Watched:
    """A page, with everything it asked for and complained about."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.problems: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("dialog", self._stop)
        page.on("request", lambda request: self._see(request.url))
        page.on("websocket", lambda socket: self._see(socket.url))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text}")

    def _stop(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _see(self, url: str) -> None:
        if not url.startswith(LOCAL):
            self.outside.append(url)

    def open(self, path: str, *, live: bool = True) -> Page:
        """Go to a page and wait until it draws and, if ``live``, until the wire is up."""
        self.page.goto(path if "://" in path else self.base + path)
        self.page.wait_for_selector("html[data-ready]", timeout=30_000)
        if live:
            self.page.wait_for_selector("html[data-live=yes]", timeout=30_000)
        return self.page

    def to_step(self, index: int) -> None:
        self.page.evaluate("i => kv.page.steps.go(i)", index)
        self.settle()

    def chart_steps(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Go to every step that shows a chart, and wait until it is drawn."""
        for index, step in enumerate(steps):
            self.to_step(index)
            if self.page.evaluate("!!kv.page.stage.chart"):
                self.until("() => kv.page.stage.chart.dataset.drawn")
                yield step

    def settle(self) -> None:
        """Two frames: what was asked for has been painted."""
        self.page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def say(self, text: str) -> None:
        """Put a sentence in and wait until the figures are of it."""
        self.page.fill("#sentence", text)
        self.until("t => kv.run?.text === t", text)
        self.settle()

    def until(self, condition: str, arg: Any = None, seconds: float = 40) -> None:
        """Wait for a condition; the page's security policy forbids the usual way."""
        end = time.monotonic() + seconds
        while not self._holds(condition, arg):
            assert time.monotonic() < end, f"still not so after {seconds} s: {condition}"
            self.page.wait_for_timeout(15)

    def _holds(self, condition: str, arg: Any) -> bool:
        try:
            return bool(self.page.evaluate(condition, arg))
        except Error as error:  # the page is just being loaded again
            if "context was destroyed" in error.message or "is not defined" in error.message:
                return False
            raise

    def complete(self) -> None:
        """Wait until the slower parts of the run have arrived too."""
        self.until("() => kv.page.parts.every(part => kv.run.has(part))")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    one = Server()
    one.start()
    yield one
    one.kill()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = os.environ.get("KVSCROLL_CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.fail("no Chromium: apt-get install chromium, or set KVSCROLL_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", OFFLINE]
        )
        yield browser
        browser.close()


@pytest.fixture
def read(chromium: Browser, server: Server) -> Iterator[Callable[..., Watched]]:
    """A function that gives a fresh reader; at the end no page may have complained."""
    opened: list[Watched] = []

    def fresh(base: str = server.base, **settings: Any) -> Watched:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        context.set_default_timeout(40_000)
        context.add_init_script(path=PROBES)
        one = Watched(context.new_page(), base)
        opened.append(one)
        return one

    yield fresh
    for one in opened:
        one.page.context.close()
    assert [url for one in opened for url in one.outside] == []
    assert [problem for one in opened for problem in one.problems] == []
