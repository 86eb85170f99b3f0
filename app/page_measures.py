"""Measures of a running page, taken in Chromium: paint, idle, typing, stepping, weight, readers."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from app.lessons import load_lessons
from app.paths import STATIC
from model.errors import BadInput

MEASURE_JS = STATIC / "bench" / "measure.js"
SCREEN = {"width": 1280, "height": 900}
SUBJECTS = ("cat", "dog", "bird", "horse", "girl", "boy")
VERBS = ("sees", "likes", "eats", "wants", "has")


@contextmanager
def chromium() -> Iterator[Browser]:
    found = os.environ.get("KVSCROLL_CHROMIUM") or shutil.which("chromium")
    if found is None:
        raise BadInput("0 browsers found, 1 needed: install chromium or set KVSCROLL_CHROMIUM")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        yield playwright.chromium.launch(executable_path=found, args=flags)


def sentences(n: int) -> list[str]:
    """Make as many sentences as asked for, none twice, so that no run is remembered."""
    return [
        f"the {SUBJECTS[i % 6]} {VERBS[i % 5]} a {SUBJECTS[(i // 6) % 6]} number {i}"
        for i in range(n)
    ]


def opened(browser: Browser, url: str) -> Page:
    context = browser.new_context(viewport=SCREEN)  # pyright: ignore[reportArgumentType]
    context.add_init_script(path=MEASURE_JS)
    page = context.new_page()
    visit(page, url)
    return page


def visit(page: Page, url: str) -> None:
    page.goto(url + load_lessons()[0].path)
    page.wait_for_selector("html[data-live=yes][data-ready]", timeout=60_000)


def loads(browser: Browser, url: str, repeats: int) -> dict[str, list[dict[str, Any]]]:
    """First visits, each with an empty cache, and second ones."""
    found: dict[str, list[dict[str, Any]]] = {"cold": [], "warm": []}
    for _ in range(repeats):
        page = opened(browser, url)
        found["cold"].append(page.evaluate("bench.load()"))
        visit(page, url)
        found["warm"].append(page.evaluate("bench.load()"))
        page.context.close()
    return found


def typing(page: Page, n: int) -> list[float]:
    """Milliseconds from a changed sentence to its figure on the screen."""
    return [page.evaluate("text => bench.type(text)", text) for text in sentences(n)]


def stepping(page: Page, rounds: int) -> list[dict[str, float]]:
    """Every step of the lesson, again and again: frames and milliseconds to the painted figure."""
    n_steps = len(load_lessons()[0].steps)
    order = [(7 * i + 3) % n_steps for i in range(rounds * n_steps)]  # jumps, none to itself
    return [page.evaluate("i => bench.step(i)", index) for index in order]


def readers(browser: Browser, url: str, process: psutil.Process, n: int) -> dict[str, float]:
    """Server CPU and memory of one more reader who opens a lesson and types a sentence."""
    opened(browser, url).context.close()  # what is built once is built
    before = _spent(process)
    pages = []
    for text in sentences(n):
        pages.append(opened(browser, url))
        pages[-1].evaluate("text => bench.type(text)", f"{text} again")
    cpu, memory = (after - b for after, b in zip(_spent(process), before, strict=True))
    for page in pages:
        page.context.close()
    return {"n": n, "cpu_ms": 1000 * cpu / n, "memory_bytes": memory / n}


def _spent(process: psutil.Process) -> tuple[float, float]:
    times = process.cpu_times()
    return times.user + times.system, float(process.memory_info().rss)
