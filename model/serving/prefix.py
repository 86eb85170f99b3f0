"""Finding blocks that already hold the beginning of a text.

A block's key covers its own tokens *and* its parent's key: the same tokens after another
beginning have other keys and values from the second layer on. Only full blocks are shared.
Source: vllm-project/vllm docs/design/prefix_caching.md.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Key = bytes
Digest = Callable[[bytes], Key]


@dataclass(frozen=True, eq=False)
class Entry:
    """One remembered block: what it holds, and the entry before it."""

    key: Key
    block: int
    tokens: tuple[int, ...]
    parent: "Entry | None"


def sha256(data: bytes) -> Key:
    return hashlib.sha256(data).digest()


class PrefixIndex:
    """Full blocks by the text they end. `salt` keeps tenants (or adapters) apart."""

    def __init__(self, block_size: int, *, salt: str = "", digest: Digest = sha256) -> None:
        self.block_size = block_size
        self._root = salt.encode()
        self._digest = digest
        self._entries: dict[Key, Entry] = {}
        self._entry_of: dict[int, Entry] = {}

    def __contains__(self, block: int) -> bool:
        return block in self._entry_of

    def __len__(self) -> int:
        return len(self._entry_of)

    def match(self, tokens: Sequence[int]) -> list[int]:
        """Blocks that hold the longest known beginning of `tokens`, at least one token short.

        The last token always has to run: the cache holds no logits.
        """
        return [entry.block for entry in self._chain(tokens[: len(tokens) - 1])]

    def remember(self, tokens: Sequence[int], blocks: Sequence[int]) -> None:
        """Make the full blocks of a computed text findable; the first copy of a text stays."""
        parent = None
        for block, (key, piece) in zip(blocks, self._pieces(tokens), strict=False):
            known = self._verified(key, piece, parent)
            if known is None:
                known = self._replace(Entry(key, block, piece, parent))
            parent = known

    def forget(self, block: int) -> None:
        """Drop a block whose content is about to change; unknown blocks are fine."""
        entry = self._entry_of.pop(block, None)
        if entry is not None:
            del self._entries[entry.key]

    def _chain(self, tokens: Sequence[int]) -> Iterator[Entry]:
        parent = None
        for key, piece in self._pieces(tokens):
            parent = self._verified(key, piece, parent)
            if parent is None:
                return
            yield parent

    def _pieces(self, tokens: Sequence[int]) -> Iterator[tuple[Key, tuple[int, ...]]]:
        key = self._root
        for stop in range(self.block_size, len(tokens) + 1, self.block_size):
            piece = tuple(tokens[stop - self.block_size : stop])
            key = self._digest(key + b"|" + repr(piece).encode())
            yield key, piece

    def _verified(self, key: Key, piece: tuple[int, ...], parent: Entry | None) -> Entry | None:
        """Find an entry and check what it holds: two texts may collide in any digest."""
        entry = self._entries.get(key)
        same = entry is not None and entry.tokens == piece and entry.parent is parent
        return entry if same else None

    def _replace(self, entry: Entry) -> Entry:
        for stale in (self._entries.get(entry.key), self._entry_of.get(entry.block)):
            if stale is not None:
                self.forget(stale.block)
        self._entries[entry.key] = self._entry_of[entry.block] = entry
        return entry
