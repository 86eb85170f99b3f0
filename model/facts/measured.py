"""Numbers of a real model, read from the measurements that ship with the page."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from model.engine.claims import SLOTS, pooled_ratio
from model.facts import Fact

FOLDER = Path(__file__).resolve().parents[2] / "content" / "measurements"
QUALITY, SPEED = FOLDER / "smollm2-quality.json", FOLDER / "smollm2-cpu.json"


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


def _format(k_format: str, v_format: str) -> Fact:
    """Change of perplexity with keys and values in two formats, over the texts, in percent."""
    changes = [
        100 * (row["ratio"] - 1)
        for row in _measured()["rows"]
        if row["slots"] is None and (row["k_format"], row["v_format"]) == (k_format, v_format)
    ]
    return _told(_between(changes, 1, " %").replace("-", "−"))


def _first_token(kind: str) -> Fact:
    """What losing the first token alone does to texts of one kind, all their tokens pooled."""
    rows = [row for row in _measured()["rows"] if row["text_kind"] == kind]
    return _told(f"{pooled_ratio(rows):.1f} times")


def _first_token_weight(of: Callable[[dict[str, Any]], float]) -> Fact:
    """Attention on the first token of a text that 64 rows have lost, over the texts, in percent."""
    found = _measured()
    values = [100 * of(row) for row in found["first_token"]]
    how = f"mean over heads and over the tokens from {SLOTS} on; {found['model']}, {found['date']}"
    return Fact(text=_between(values, 1, " %"), how=how, source=found["command"])


def _pace(key: str) -> Fact:
    """Tokens a second of the engine in float32, as the shipped speeds have it."""
    found = json.loads(SPEED.read_text(encoding="utf-8"))
    ours = next(row for row in found["rows"] if row["path"] == "ours")
    how = f"{found['model']}, {found['processor']}, {found['date']}"
    return Fact(text=f"{ours[key]:.0f}", how=how, source=found["command"])


def _texts() -> Fact:
    return _told(str(len({row["text"] for row in _measured()["rows"]})))


FACTS = {
    "smollm2-texts": _texts,
    "smollm2-reads-per-second": partial(_pace, "prefill_tokens_per_s"),
    "smollm2-writes-per-second": partial(_pace, "decode_tokens_per_s"),
    "smollm2-window-64-first-token-programs": partial(_first_token, "programs"),
    "smollm2-window-64-first-token-prose": partial(_first_token, "prose"),
    "smollm2-first-token-weight": partial(_first_token_weight, lambda row: row["share"]),
    "smollm2-first-token-most": partial(
        _first_token_weight, lambda row: max(row["share_by_layer"])
    ),
    "smollm2-first-token-even": partial(_first_token_weight, lambda row: row["even_share"]),
    "smollm2-window-64-no-sinks": partial(_window, 0),
    "smollm2-window-64-one-sink": partial(_window, 1),
    "smollm2-window-64-four-sinks": partial(_window, 4),
    "smollm2-int8": partial(_format, "int8", "int8"),
    "smollm2-fp4": partial(_format, "fp4", "fp4"),
    "smollm2-fp4-values": partial(_format, "as-computed", "fp4"),
    "smollm2-kivi-2": partial(_format, "kivi-2", "kivi-2"),
}
