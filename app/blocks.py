"""The outer syntax of content files: front matter, then ``:::`` blocks that may nest.

Nothing here knows what a step or a question is; it only says which lines belong to which block.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

FENCE = re.compile(r"^:::\s*(?P<kind>[a-z]+)?\s*(?P<name>[a-z0-9-]+)?\s*(?P<options>\{.*\})?\s*$")


class ContentError(ValueError):
    """A content file that does not parse; the message names the file and the line."""


@dataclass
class Block:
    """One ``::: kind name {options}`` … ``:::`` with its own lines and the blocks inside it."""

    kind: str
    name: str
    options: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    blocks: list["Block"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()

    def of_kind(self, kind: str) -> Iterator["Block"]:
        return (block for block in self.blocks if block.kind == kind)


def parse(text: str, source: str) -> Block:
    """Split a content file into its root block (options = front matter).

    Raises
    ------
    ContentError
        A fence that does not parse, or one that is never closed.
    """
    front, body = _split_front_matter(text, source)
    root = Block("file", source, front)
    stack = [root]
    for number, line in enumerate(body.splitlines(), start=1):
        if not line.startswith(":::"):
            stack[-1].lines.append(line)
            continue
        fence = FENCE.match(line)
        if fence is None:
            raise ContentError(f"{source}, body line {number}: cannot read the fence {line!r}")
        if fence["kind"] is None:
            if len(stack) == 1:
                raise ContentError(f"{source}, body line {number}: nothing is open to close")
            stack.pop()
            continue
        block = Block(
            fence["kind"], fence["name"] or "", yaml.safe_load(fence["options"] or "{}") or {}
        )
        stack[-1].blocks.append(block)
        stack.append(block)
    if len(stack) > 1:
        raise ContentError(f"{source}: the block {stack[-1].kind!r} is never closed")
    return root


def _split_front_matter(text: str, source: str) -> tuple[dict[str, Any], str]:
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():  # noqa: PLR2004 -- before, between and after the rules
        raise ContentError(f"{source}: a content file begins with front matter between --- lines")
    return yaml.safe_load(parts[1]) or {}, parts[2]
