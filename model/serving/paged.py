"""Keys and values in blocks: a text takes memory as it grows, and equal beginnings share it."""

from collections.abc import Sequence
from math import prod

import torch
from jaxtyping import Int
from torch import Tensor

from model.cache import KVCache
from model.errors import BadInput
from model.serving.blocks import OutOfBlocksError
from model.serving.tables import BlockTable, BlockTables
from model.storage.base import (
    KeyRows,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
    check_room,
    pick_sequences,
)


class PagedPool:
    """The blocks of every layer. One block number means the same block in each of them.

    k[layer], v[layer]: [n_blocks block_size kv_heads d]. Token t of a text lives in block
    table[t // block_size], row t % block_size.
    """

    def __init__(self, rooms: Sequence[Room], tables: BlockTables) -> None:
        self.rooms, self.tables = tuple(rooms), tables
        n_blocks, size = len(tables.pool), tables.block_size
        empty = [room.empty(n_blocks * size) for room in self.rooms]
        self.k = [_by_block(k, n_blocks) for k, _ in empty]
        self.v = [_by_block(v, n_blocks) for _, v in empty]

    @property
    def block_nbytes(self) -> int:
        """Bytes of one block over all layers."""
        return sum(x[0].nbytes for x in (*self.k, *self.v))

    def open(self, prompt: Sequence[int] = ()) -> "PagedCache":
        """Start a text; `length` of the result is how many of its tokens need not run."""
        return PagedCache(self, self.tables.open(prompt))

    def grow(self, table: BlockTable, n_tokens: int) -> None:
        """Make room in every layer at once, copying a shared tail before anybody writes."""
        try:
            copies = self.tables.grow(table, n_tokens)
        except OutOfBlocksError as error:
            message = f"no room for {n_tokens} tokens: {error}, close another text first"
            raise BadInput(message) from error
        for source, target in copies:
            for x in (*self.k, *self.v):
                x[target] = x[source]

    def slots(self, table: BlockTable, start: int, stop: int) -> Int[Tensor, " rows"]:
        """Return where tokens start..stop live, counting the rows of all blocks in a line."""
        size = self.tables.block_size
        tokens = torch.arange(start, stop)
        return torch.tensor(table.blocks, dtype=torch.long)[tokens // size] * size + tokens % size

    def write(self, layer: int, slots: Int[Tensor, " new"], k: NewKeys, v: NewValues) -> None:
        """Put the rows of new tokens into their slots."""
        self.k[layer].flatten(0, 1)[slots] = k.transpose(0, 1)
        self.v[layer].flatten(0, 1)[slots] = v.transpose(0, 1)

    def read(self, layer: int, slots: Int[Tensor, " seen"]) -> tuple[KeyRows, ValueRows]:
        """Gather rows from their slots, as if they had been kept side by side."""
        k, v = (x[layer].flatten(0, 1)[slots].transpose(0, 1) for x in (self.k, self.v))
        return k, v


class PagedLayer(Storage):
    """One layer of one text, read and written through the text's block table."""

    def __init__(self, pool: PagedPool, layer: int, table: BlockTable) -> None:
        super().__init__(pool.rooms[layer])
        if self.room.batch:
            message = f"a block table serves one text: open {prod(self.room.batch)} of them"
            raise BadInput(message)
        self.pool, self.layer, self.table = pool, layer, table
        self.length = table.n_tokens

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        start, stop = self.length, self.length + k.shape[-2]
        check_room(k.shape[-2], start, self.room.capacity)
        self.pool.grow(self.table, stop)  # the first layer makes room for all of them
        self.pool.write(self.layer, self.pool.slots(self.table, start, stop), k, v)
        self.length = stop
        return self.read()

    def read(self) -> tuple[KeyRows, ValueRows]:
        return self.pool.read(self.layer, self.pool.slots(self.table, 0, self.length))

    @property
    def positions(self) -> Int[Tensor, " rows"]:
        return torch.arange(self.length)

    @property
    def nbytes(self) -> int:
        """Bytes of the blocks this text holds in this layer, shared ones counted in full."""
        block = self.pool.k[self.layer][0].nbytes + self.pool.v[self.layer][0].nbytes
        return block * len(self.table.blocks)

    @property
    def nbytes_held(self) -> int:
        row = self.room.numbers_per_token * self.pool.k[self.layer].element_size()
        return row * self.length

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        self.length = n_tokens
        if n_tokens < self.table.n_tokens:
            self.pool.tables.crop(self.table, n_tokens)

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        pick_sequences(rows, rows, self.room)


class PagedCache(KVCache):
    """One text in a pool: `KVCache` whose forks share what they have in common."""

    def __init__(self, pool: PagedPool, table: BlockTable) -> None:
        super().__init__(PagedLayer(pool, i, table) for i in range(len(pool.rooms)))
        self.pool, self.table = pool, table

    def fork(self) -> "PagedCache":
        """Share every block; whoever writes into a shared one first copies it."""
        return PagedCache(self.pool, self.pool.tables.fork(self.table))

    def remember(self, tokens: Sequence[int]) -> None:
        """Let later texts start from this one: `tokens` are those whose rows are kept."""
        self.pool.tables.remember(self.table, tokens[: self.length])

    def close(self) -> None:
        """Give the blocks back. What was remembered stays findable until it is needed."""
        self.crop(0)
        self.pool.tables.close(self.table)


class Paged(PagedLayer):
    """One layer with blocks of its own, for `Decoder.new_cache(store=Paged)`."""

    block_size = 4

    def __init__(self, room: Room) -> None:
        tables = BlockTables(-(-room.capacity // self.block_size), self.block_size)
        super().__init__(PagedPool([room], tables), 0, tables.open())


def _by_block(x: Tensor, n_blocks: int) -> Tensor:
    """Turn [kv_heads rows d] into [n_blocks block_size kv_heads d], the layout of a pool."""
    return x.transpose(0, 1).contiguous().unflatten(0, (n_blocks, -1))
