"""Measurements that ship with the page, as rows of one number each: plain data."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

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
    }


CIRCUMSTANCES = ("date", "command", "model", "device", "processor", "threads")


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.glob("*.json")))


def _path(row: Row) -> str:
    return f"{row['path']}, {row['dtype']}"


def _case(row: Row) -> str:
    kept = f"{row['slots']} rows" if row.get("slots") else "all rows"
    sinks = f", {row['sinks']} of them sinks" if row.get("sinks") else ""
    formats = dict.fromkeys((row.get("k_format"), row.get("v_format")))
    return f"{row['text']}: {kept}{sinks}, {' and '.join(str(name) for name in formats)}"


PROCESSOR = "processor time of a token"  # leaves out what else the machine did meanwhile
# By kind: unit, the number shown, and how a row is called.
KINDS: dict[str, tuple[str, str, Callable[[Row], str]]] = {
    PROCESSOR: ("milliseconds", "decode_cpu_ms_per_token", _path),
    "speed of writing": ("tokens a second", "decode_tokens_per_s", _path),
    "perplexity over the full cache's": ("times", "ratio", _case),
}
