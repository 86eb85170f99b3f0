"""Measurements that ship with the page, as rows of one number each: plain data."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def read_measurements(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what `kvscroll bench --json` wrote into a folder; other files are left out.

    By name: title, unit, rows of (name, value), and the circumstances: date, command, model,
    device, processor, threads.
    """
    found = ((path.stem, json.loads(path.read_text("utf-8"))) for path in _files(folder))
    return {name: told for name, made in found if (told := tell(made)) is not None}


def tell(made: Any) -> dict[str, Any] | None:
    """Turn one answer of the bench into rows of a name and a number."""
    if not isinstance(made, dict) or not made.get("rows") or "command" not in made:
        return None
    kind = next((kind for key, kind in KINDS.items() if key in made["rows"][0]), None)
    if kind is None:
        return None
    title, unit, key, name_of = kind
    return {
        "title": title,
        "unit": unit,
        "rows": [{"name": name_of(row), "value": row[key]} for row in made["rows"]],
        **{name: made.get(name, "") for name in CIRCUMSTANCES},
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


# By a key that tells the kind: title, unit, the number shown, and how a row is called.
KINDS: dict[str, tuple[str, str, str, Callable[[Row], str]]] = {
    "decode_tokens_per_s": ("speed of writing", "tokens a second", "decode_tokens_per_s", _path),
    "perplexity": ("perplexity, beside the full cache's", "times", "ratio", _case),
}
