"""Lighthouse on the pages a reader meets: ``make lighthouse``.

Starts a server, runs the pinned Lighthouse (``package-lock.json`` beside this file; npm installs
it on first use) with the tests' Chromium on the start page, each lesson, the calculator and the
lab, prints a table, and fails when accessibility is under 100 or best practices under 95.
Performance is reported only: it is of a slowed-down phone, and of whatever else the machine does.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.lessons import load_lessons
from tests.tools.server import serving

HERE = Path(__file__).parent
LIGHTHOUSE = HERE / "node_modules" / ".bin" / "lighthouse"
LEAST = {"accessibility": 100, "best-practices": 95}
CATEGORIES = ("performance", *LEAST)
TIMINGS = {
    "first-contentful-paint": "first paint",
    "largest-contentful-paint": "largest paint",
    "total-blocking-time": "blocked",
    "cumulative-layout-shift": "shift",
    "total-byte-weight": "weight",
}
CHROME_FLAGS = "--headless=new --no-sandbox --disable-gpu"


def paths() -> list[str]:
    return ["/", *(lesson.path for lesson in load_lessons()), "/calculator", "/break-it"]


def install() -> None:
    """Bring the pinned version, unless it is there."""
    if LIGHTHOUSE.exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("Lighthouse needs npm: on Debian or Ubuntu, apt-get install npm")
    subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, check=True)


def chromium() -> str:
    found = os.environ.get("KVSCROLL_CHROMIUM") or shutil.which("chromium")
    if found is None:
        raise SystemExit("no Chromium: apt-get install chromium, or set KVSCROLL_CHROMIUM")
    return found


def run(url: str) -> dict[str, Any]:
    """Lighthouse's whole report of one page, as data."""
    command = [str(LIGHTHOUSE), url, "--quiet", "--output=json", f"--chrome-flags={CHROME_FLAGS}"]
    command.append(f"--only-categories={','.join(CATEGORIES)}")
    environment = {**os.environ, "CHROME_PATH": chromium()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def row(path: str, report: dict[str, Any]) -> dict[str, Any]:
    """One page's scores of 100, its timings, and the audits behind every point missing."""
    scores = {name: round(100 * (report["categories"][name]["score"] or 0)) for name in CATEGORIES}
    told = {label: report["audits"][name]["displayValue"] for name, label in TIMINGS.items()}
    return {"page": path, **scores, **told, "failed": list(failed(report))}


def failed(report: dict[str, Any]) -> Iterator[str]:
    for category in LEAST:
        for reference in report["categories"][category]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
                yield f"{audit['id']}: {audit['title']}"


def too_low(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['page']}: {name} {one[name]}, at least {least} is asked; {'; '.join(one['failed'])}"
        for one in rows
        for name, least in LEAST.items()
        if one[name] < least
    ]


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    heads = [name for name in rows[0] if name != "failed"]
    cells = [heads, *([str(one[name]) for name in heads] for one in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    for line in cells:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="paths to look at, instead of all")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    install()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        rows = [row(path, run(server.url + path)) for path in args.only or paths()]
    sys.stdout.writelines([json.dumps(rows) + "\n"] if args.json else table(rows))
    missing = too_low(rows)
    sys.stderr.writelines(f"{line}\n" for line in missing)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
