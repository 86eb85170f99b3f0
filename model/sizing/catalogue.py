"""The models known by name: a data file with their configs and sources, and a lenient look-up."""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from model.errors import BadInput
from model.sizing.layers import Model
from model.sizing.read_config import read_config

_PATH = Path(__file__).with_name("catalogue.json")
_ENDINGS = ("hf", "instruct", "chat", "it", "base", "preview")
SHORTEST_PREFIX = 4


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model: what it is called, its config, and where the config was found."""

    name: str
    aliases: tuple[str, ...]
    config: Mapping[str, Any]
    source: str
    certainty: str
    note: str
    encoder_tokens: int | None
    published_parameters: int | None

    @property
    def keys(self) -> set[str]:
        """Every spelling it answers to, squeezed to letters and digits."""
        spelt = {self.name, re.sub(r"\s*\(.*?\)", "", self.name), *self.aliases}
        return {squeeze(s) for s in spelt} | {squeeze(without_ending(s)) for s in spelt}


def squeeze(name: str) -> str:
    """Letters and digits alone, in lower case, without an organisation before a slash.

    >>> squeeze("meta-llama/Llama-2-7b-hf")
    'llama27bhf'
    """
    last = name.rsplit("/", 1)[-1] if re.fullmatch(r"\S+/\S+", name.strip()) else name
    return re.sub(r"[^a-z0-9+]", "", last.lower())


def without_ending(name: str) -> str:
    """The name without -hf, -Instruct and the like, which change no size."""
    parts = re.split(r"[-_ ]", name)
    while len(parts) > 1 and parts[-1].lower() in _ENDINGS:
        parts.pop()
    return "-".join(parts)


@cache
def entries() -> tuple[Entry, ...]:
    """All entries, in the order of the data file."""
    raw = json.loads(_PATH.read_text(encoding="utf-8"))
    return tuple(
        Entry(
            name=item["name"],
            aliases=tuple(item["aliases"]),
            config=item["config"],
            source=item["source"],
            certainty=item["certainty"],
            note=item.get("note", ""),
            encoder_tokens=item.get("encoder_tokens"),
            published_parameters=item.get("published_parameters"),
        )
        for item in raw
    )


@cache
def _index() -> Mapping[str, Entry]:
    """Squeezed spelling to entry; an entry's own name wins over another's alias."""
    found: dict[str, Entry] = {}
    for entry in entries():
        for key in entry.keys:
            found.setdefault(key, entry)
    for entry in entries():
        found[squeeze(entry.name)] = entry
    return found


def find(name: str) -> Entry:
    """The entry a reader means, or BadInput with the nearest names."""
    wanted = squeeze(without_ending(name[:200]))
    index = _index()
    entry = index.get(squeeze(name[:200])) or index.get(wanted)
    if entry is not None:
        return entry
    if len(wanted) >= SHORTEST_PREFIX:
        starting = {e.name: e for key, e in index.items() if key.startswith(wanted)}
        if len(starting) == 1:
            return next(iter(starting.values()))
        if starting:
            listed = ", ".join(sorted(starting)[:8])
            raise BadInput(f"{name[:60]!r} may mean {listed}: say which")
    raise BadInput(unknown(name, wanted))


def unknown(name: str, wanted: str) -> str:
    near = difflib.get_close_matches(wanted, _index(), n=6, cutoff=0.5)
    names = list(dict.fromkeys(_index()[key].name for key in near))[:3]
    hint = f"; near: {', '.join(names)}" if names else ""
    return (
        f"no model {name[:60]!r} in the catalogue of {len(entries())}{hint}. "
        "`kvscroll models` lists it; `--config FILE` reads any config.json"
    )


@cache
def model_of(entry_name: str) -> Model:
    """The model of an entry, read from its config like any other."""
    entry = next(e for e in entries() if e.name == entry_name)
    model = read_config(entry.config, name=entry.name)
    if entry.published_parameters is not None:
        kept = tuple(w for w in model.warnings if "weights not counted" not in w)
        model = replace(
            model,
            parameters=entry.published_parameters,
            warnings=(*kept, "parameters as published: the code is not public"),
        )
    tokens = entry.encoder_tokens or model.encoder_tokens
    return replace(model, source=f"{entry.source} [{entry.certainty}]", encoder_tokens=tokens)


def load(name: str) -> Model:
    """The model of that name, leniently matched; BadInput suggests the nearest."""
    return model_of(find(name).name)
