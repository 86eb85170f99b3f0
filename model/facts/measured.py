"""Numbers of a real model, read from the measurements that ship with the page."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

from model.engine.claims import SLOTS, pooled_ratio
from model.facts import Fact

QUALITY = Path(__file__).resolve().parents[2] / "content" / "measurements" / "smollm2-quality.json"


@cache
def _measured() -> dict[str, Any]:
    return json.loads(QUALITY.read_text(encoding="utf-8"))


def _told(text: str) -> Fact:
    found = _measured()
    return Fact(text=text, how=f"{found['model']}, {found['date']}", source=found["command"])


def _between(values: list[float], digits: int, unit: str) -> str:
    """One number, or the range of several, as printed."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _window(n_sinks: int) -> Fact:
    """Perplexity with 64 rows over that of the full cache, over the texts."""
    ratios = [
        row["ratio"]
        for row in _measured()["rows"]
        if row["slots"] == SLOTS and row["sinks"] == n_sinks
    ]
    return _told(_between(ratios, 1, " times"))


def _format(name: str) -> Fact:
    """Change of perplexity with keys and values in a format, over the texts, in percent."""
    changes = [
        100 * (row["ratio"] - 1)
        for row in _measured()["rows"]
        if row["slots"] is None and {row["k_format"], row["v_format"]} == {name}
    ]
    return _told(_between(changes, 1, " %").replace("-", "−"))


def _first_token() -> Fact:
    """What losing the first token alone does, every scored token of every text counted once."""
    return _told(f"{pooled_ratio(_measured()['rows']):.1f} times")


def _texts() -> Fact:
    return _told(str(len({row["text"] for row in _measured()["rows"]})))


FACTS = {
    "smollm2-texts": _texts,
    "smollm2-window-64-first-token": _first_token,
    "smollm2-window-64-no-sinks": partial(_window, 0),
    "smollm2-window-64-one-sink": partial(_window, 1),
    "smollm2-window-64-four-sinks": partial(_window, 4),
    "smollm2-int8": partial(_format, "int8"),
    "smollm2-fp4": partial(_format, "fp4"),
}
