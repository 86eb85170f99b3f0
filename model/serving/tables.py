"""Block tables: which blocks hold a text, in order. No tensors, only who owns what."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from model.errors import BadInput
from model.serving.blocks import BlockPool, OutOfBlocksError
from model.serving.prefix import Digest, PrefixIndex, sha256


class Copy(NamedTuple):
    """All rows of one block have to be copied to another before the next write."""

    source: int
    target: int


@dataclass(eq=False)
class BlockTable:
    """The blocks of one text. Token t lives in blocks[t // block_size], row t % block_size."""

    blocks: list[int] = field(default_factory=list)
    n_tokens: int = 0


class BlockTables:
    """Hands out blocks to texts, shares equal beginnings, and keeps writers apart.

    Sources: PagedAttention, arXiv 2309.06180; GeeeekExplorer/nano-vllm
    nanovllm/engine/block_manager.py.
    """

    def __init__(
        self, n_blocks: int, block_size: int, *, salt: str = "", digest: Digest = sha256
    ) -> None:
        if block_size < 1:
            message = f"a block of {block_size} tokens holds nothing: use at least 1"
            raise BadInput(message)
        self.block_size = block_size
        self.pool = BlockPool(n_blocks)
        self.prefixes = PrefixIndex(block_size, salt=salt, digest=digest)
        self.open_tables: list[BlockTable] = []

    def blocks_for(self, n_tokens: int) -> int:
        """Blocks that hold this many tokens: the last one may be partly empty."""
        return -(-n_tokens // self.block_size)

    def open(self, prompt: Sequence[int] = ()) -> BlockTable:
        """Start a text with the blocks that already hold its beginning, if any do."""
        hits = self.prefixes.match(prompt)
        self.pool.share(hits)
        table = BlockTable(hits, len(hits) * self.block_size)
        self.open_tables.append(table)
        return table

    def fork(self, table: BlockTable) -> BlockTable:
        """Continue a text twice: both hold every block, nothing is copied yet."""
        self.pool.share(table.blocks)
        twin = BlockTable(list(table.blocks), table.n_tokens)
        self.open_tables.append(twin)
        return twin

    def needed(self, table: BlockTable, n_tokens: int) -> int:
        """Blocks that have to be free before the text can grow to `n_tokens`."""
        shared = sum(self.pool.references[table.blocks[i]] > 1 for i in self._written(table))
        return max(self.blocks_for(n_tokens) - len(table.blocks), 0) + (
            shared if n_tokens > table.n_tokens else 0
        )

    def can_grow(self, table: BlockTable, n_tokens: int) -> bool:
        return self.pool.can_allocate(self.needed(table, n_tokens))

    def grow(self, table: BlockTable, n_tokens: int) -> list[Copy]:
        """Make tokens up to `n_tokens` writable; raises OutOfBlocksError and changes nothing.

        A tail block that others hold too is exchanged for a private one (copy on write); the
        last holder writes in place.
        """
        if n_tokens <= table.n_tokens:
            return []
        if not self.can_grow(table, n_tokens):
            message = f"{self.needed(table, n_tokens)} blocks needed, {self.pool.n_free} free"
            raise OutOfBlocksError(message)
        copies = [self._make_private(table, i) for i in self._written(table)]
        table.blocks += self._fresh(self.blocks_for(n_tokens) - len(table.blocks))
        table.n_tokens = n_tokens
        return [copy for copy in copies if copy is not None]

    def remember(self, table: BlockTable, tokens: Sequence[int]) -> None:
        """Let others find the full blocks of a text whose rows have been computed."""
        self.prefixes.remember(tokens[: table.n_tokens], table.blocks)

    def crop(self, table: BlockTable, n_tokens: int) -> None:
        """Go back to the first `n_tokens` tokens; blocks that hold none of them are released."""
        kept = self.blocks_for(n_tokens)
        self.pool.release(table.blocks[kept:])
        del table.blocks[kept:]
        table.n_tokens = n_tokens

    def close(self, table: BlockTable) -> None:
        """End a text. Its blocks stay findable until somebody else needs them."""
        self.crop(table, 0)
        self.open_tables.remove(table)

    def _written(self, table: BlockTable) -> range:
        """Existing blocks the next token goes into: the tail, if it has room."""
        return range(table.n_tokens // self.block_size, len(table.blocks))

    def _make_private(self, table: BlockTable, index: int) -> Copy | None:
        block = table.blocks[index]
        if self.pool.references[block] == 1:
            self.prefixes.forget(block)  # after a crop a remembered block can be a tail
            return None
        (target,) = self._fresh(1)
        self.pool.release([block])
        table.blocks[index] = target
        return Copy(block, target)

    def _fresh(self, n: int) -> list[int]:
        blocks = self.pool.allocate(max(n, 0))
        for block in blocks:
            self.prefixes.forget(block)
        return blocks
