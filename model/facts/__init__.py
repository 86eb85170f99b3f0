"""Every number the prose quotes, computed and formatted: ``{{ name }}`` in a content file.

Each module beside this one holds a ``FACTS`` mapping from a kebab-case name to a string, a
``Fact``, or a function that returns one. Nothing is computed before a page asks for it.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

MODULES = (
    "attention",
    "cache",
    "deeper",
    "measured",
    "patterns",
    "serving",
    "sharing",
    "sizing",
    "toy",
    "windows",
)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number as it is printed, with the arithmetic that made it and, if published, its source."""

    text: str
    how: str = ""
    source: str = ""


class UnknownFactError(KeyError):
    """The prose quotes a number nobody computes."""


@cache
def fact(name: str) -> Fact:
    """The fact called ``name``; computed once a process."""
    table = _tables()
    if name not in table:
        raise UnknownFactError(f"no fact is called {name!r}")
    value = table[name]
    if callable(value):
        value = value()
    return value if isinstance(value, Fact) else Fact(text=str(value))


def names() -> frozenset[str]:
    return frozenset(_tables())


@cache
def _tables() -> Mapping[str, object]:
    merged: dict[str, object] = {}
    for module in MODULES:
        table = importlib.import_module(f"model.facts.{module}").FACTS
        twice = merged.keys() & table.keys()
        if twice:
            raise UnknownFactError(f"facts defined twice: {sorted(twice)}")
        merged.update(table)
    return merged
