"""A tree of texts: the longest common beginning is found token by token, not block by block.

Source: RadixAttention, arXiv 2312.07104; sgl-project/mini-sglang
python/minisgl/kvcache/radix_cache.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(eq=False)
class Node:
    """The tokens on the edge that leads here, and what comes after them."""

    tokens: tuple[int, ...] = ()
    children: dict[int, "Node"] = field(default_factory=dict)
    used: int = 0
    locks: int = 0


class Insertion(NamedTuple):
    """How much of a text was there already, and how much was added."""

    matched: int
    added: int


class PrefixTree:
    """Texts by their beginnings. Evicts unlocked leaves, the one unused for longest first."""

    def __init__(self) -> None:
        self.root = Node()
        self._clock = 0

    def __len__(self) -> int:
        """Tokens stored, a shared beginning counted once."""
        return sum(len(node.tokens) for node, _ in self._walk(self.root))

    def match(self, text: Sequence[int]) -> int:
        """Tokens at the beginning of `text` that are stored; they count as used now."""
        return sum(len(node.tokens) for node in self._descend(text))

    def insert(self, text: Sequence[int]) -> Insertion:
        """Store a text; an edge is split where it leaves what is there."""
        path = self._descend(text)
        matched = sum(len(node.tokens) for node in path)
        rest = tuple(text[matched:])
        if rest:
            path[-1].children[rest[0]] = Node(tokens=rest, used=self._clock)
        return Insertion(matched, len(rest))

    def lock(self, text: Sequence[int], n_users: int = 1) -> None:
        """Protect the stored beginning of a text while it runs (-1 gives it up again)."""
        for node in self._descend(text):
            node.locks += n_users

    def evict(self, n_tokens: int) -> int:
        """Drop whole leaves until `n_tokens` are free or all that is left is locked."""
        dropped = 0
        while dropped < n_tokens:
            leaves = [
                (node, parent)
                for node, parent in self._walk(self.root)
                if not node.children and not node.locks
            ]
            if not leaves:
                break
            leaf, parent = min(leaves, key=lambda pair: pair[0].used)
            del parent.children[leaf.tokens[0]]
            dropped += len(leaf.tokens)
        return dropped

    def _descend(self, text: Sequence[int]) -> list[Node]:
        """Nodes that spell the longest stored beginning of a text, splitting the last edge."""
        self._clock += 1
        node, path, at = self.root, [self.root], 0
        while at < len(text) and text[at] in node.children:
            child = node.children[text[at]]
            common = _common(child.tokens, text[at:])
            if common < len(child.tokens):
                child = self._split(node, child, common)
            child.used = self._clock
            path.append(child)
            node, at = child, at + common
        return path

    @staticmethod
    def _split(parent: Node, child: Node, at: int) -> Node:
        """Put a node in the middle of an edge; both halves stay locked and used as before."""
        upper = Node(child.tokens[:at], used=child.used, locks=child.locks)
        child.tokens = child.tokens[at:]
        upper.children[child.tokens[0]] = child
        parent.children[upper.tokens[0]] = upper
        return upper

    def _walk(self, parent: Node) -> Iterator[tuple[Node, Node]]:
        for node in parent.children.values():
            yield node, parent
            yield from self._walk(node)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
