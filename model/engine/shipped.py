"""Measurements that ship with the page, as rows of one number each: plain data."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from model.engine.claims import mean_log

Row = Mapping[str, Any]


def read_measurements(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what `kvscroll bench --json` wrote into a folder; other files are left out.

    By the file's name and the kind of number: title, unit, rows of (name, value), and the
    circumstances: date, command, model, device, processor, threads.
    """
    made = {path.stem: json.loads(path.read_text("utf-8")) for path in _files(folder)}
    return {
        f"{name.replace('-', ' ')}: {kind}": told
        for name, one in made.items()
        for kind, told in tell(one).items()
    }


def tell(made: Any) -> dict[str, dict[str, Any]]:
    """Turn one answer of the bench into rows of a name and a number, for each kind it holds."""
    if not isinstance(made, dict) or not made.get("rows") or "command" not in made:
        return {}
    if "grid" in made:  # a sweep is no list of bars
        return {}
    said = {name: made.get(name, "") for name in CIRCUMSTANCES}
    return {
        kind: {
            "title": kind,
            "unit": unit,
            "rows": [{"name": name_of(row), "value": row[key]} for row in made["rows"]],
            **said,
        }
        for kind, (unit, key, name_of) in KINDS.items()
        if key in made["rows"][0] and (kind != PROCESSOR or said["device"] == "cpu")
    } | {
        kind: {"title": kind, "unit": TIMES, "rows": rows, **said}
        for kind, (belongs, name_of) in QUALITY.items()
        if (rows := pooled([row for row in made["rows"] if belongs(row)], name_of))
    }


def pooled(rows: Sequence[Row], name_of: Callable[[Row], str]) -> list[dict[str, Any]]:
    """One row a case: its perplexity over the full cache's, all texts' scored tokens pooled."""
    cases: dict[str, list[Row]] = {}
    for row in rows:
        cases.setdefault(name_of(row), []).append(row)
    return [
        {"name": name, "value": math.exp(mean_log(same) - mean_log(same, "full_perplexity"))}
        for name, same in cases.items()
    ]


CIRCUMSTANCES = ("date", "command", "model", "device", "processor", "threads")


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.glob("*.json")))


def _path(row: Row) -> str:
    return f"{row['path']}, {row['dtype']}"


def _kept(row: Row) -> str:
    sinks = row["sinks"]
    said = "no sink" if sinks == 0 else "1 sink" if sinks == 1 else f"{sinks} sinks"
    return f"{row['slots']} rows, {said}"


def _written(row: Row) -> str:
    k, v = row["k_format"], row["v_format"]
    return k if k == v else f"keys {k}, values {v}"


PROCESSOR = "processor time of a token"  # leaves out what else the machine did meanwhile
# By kind: unit, the number shown, and how a row is called.
KINDS: dict[str, tuple[str, str, Callable[[Row], str]]] = {
    PROCESSOR: ("milliseconds", "decode_cpu_ms_per_token", _path),
    "speed of reading": ("tokens a second", "prefill_tokens_per_s", _path),
    "speed of writing": ("tokens a second", "decode_tokens_per_s", _path),
}
TIMES = "times the full cache's"
FEWER_ROWS, FEWER_BITS = "perplexity with fewer rows", "perplexity with fewer bits"
# By kind of quality: which rows of a measurement belong to it, and how a case is called.
QUALITY: dict[str, tuple[Callable[[Row], bool], Callable[[Row], str]]] = {
    FEWER_ROWS: (lambda row: bool(row.get("slots")), _kept),
    FEWER_BITS: (lambda row: "k_format" in row and not row.get("slots"), _written),
}
