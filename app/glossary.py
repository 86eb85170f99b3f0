"""Terms and what they mean: one content file, one entry under each ``## `` title."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from app.blocks import ContentError, parse
from app.paths import CONTENT

FILE = "glossary.md"


@dataclass(frozen=True)
class Entry:
    """One term: its name, its anchor, and its meaning in Markdown."""

    term: str
    slug: str
    text: str


def slugify(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its slug, in the order of the file.

    Raises
    ------
    ContentError
        Two entries have the same slug, or one says nothing.
    """
    found: dict[str, Entry] = {}
    for entry in _sections():
        if entry.slug in found or not entry.text:
            raise ContentError(f"{FILE}: {entry.term!r} stands twice or is empty")
        found[entry.slug] = entry
    return found


def by_letter() -> dict[str, list[Entry]]:
    """The entries as a reader looks for them: by name, under the letter each begins with."""
    found: dict[str, list[Entry]] = {}
    for entry in sorted(entries().values(), key=lambda entry: entry.slug):
        found.setdefault(entry.term[0].upper(), []).append(entry)
    return found


def meaning(slug: str) -> str:
    """The entry as plain text for a tooltip; nothing for a slug that has none."""
    entry = entries().get(slug)
    return f"{entry.term}: {re.sub(r'[*`]', '', entry.text)}" if entry else ""


def _sections() -> Iterator[Entry]:
    root = parse((CONTENT / FILE).read_text(encoding="utf-8"), FILE)
    for block in root.of_kind("body"):
        for section in re.split(r"^## ", block.text, flags=re.MULTILINE)[1:]:
            term, _, text = section.partition("\n")
            yield Entry(term.strip(), slugify(term), " ".join(text.split()))
