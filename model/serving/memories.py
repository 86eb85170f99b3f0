"""Two ways to give texts memory of the same size: blocks on demand, or a reservation each."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from model.errors import BadInput
from model.serving.tables import BlockTable, BlockTables


@dataclass(eq=False)
class Held:
    """The memory of one text: its blocks in order, or the slab it was given."""

    table: BlockTable = field(default_factory=BlockTable)


class Memory(ABC):
    """What a server asks of its cache memory. Sizes are counted in tokens (slots)."""

    @abstractmethod
    def fits_alone(self, n_prompt: int, lengths: Sequence[int]) -> bool:
        """Whether a request could ever be served: samples of these lengths, nobody else here."""

    @abstractmethod
    def open(self, prompt: Sequence[int], lengths: Sequence[int]) -> list[Held] | None:
        """Memory for samples of one prompt that are this long by now; None if there is no room."""

    @abstractmethod
    def grow(self, held: Held, tokens: Sequence[int]) -> bool:
        """Make room for one token more, `tokens` being the whole text; False if there is none."""

    @abstractmethod
    def close(self, held: Held) -> None:
        """Give the memory back."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Slots there are."""

    @property
    @abstractmethod
    def reserved(self) -> int:
        """Slots nobody else can use now."""

    @property
    @abstractmethod
    def used(self) -> int:
        """Slots that hold a token, a shared one counted once."""

    prompt_tokens: int = 0
    hit_tokens: int = 0  # prompt tokens found in the cache, so far

    @property
    @abstractmethod
    def unit_size(self) -> int:
        """Slots of one block or slab."""

    @property
    @abstractmethod
    def units(self) -> list[int]:
        """How many texts hold each block (or slab)."""


class PagedMemory(Memory):
    """Blocks taken one by one, equal beginnings shared."""

    def __init__(self, n_blocks: int, block_size: int) -> None:
        self.tables = BlockTables(n_blocks, block_size)

    def fits_alone(self, n_prompt: int, lengths: Sequence[int]) -> bool:
        return self._blocks(n_prompt, lengths) <= len(self.tables.pool)

    def open(self, prompt: Sequence[int], lengths: Sequence[int]) -> list[Held] | None:
        table = self.tables.open(prompt)
        hits = table.n_tokens
        if not self.tables.pool.can_allocate(
            self._blocks(len(prompt), lengths) - len(table.blocks)
        ):
            self.tables.close(table)
            return None
        self.tables.grow(table, len(prompt))
        self.tables.remember(table, prompt)
        self.prompt_tokens += len(prompt)
        self.hit_tokens += hits
        samples = [table, *(self.tables.fork(table) for _ in lengths[1:])]
        for sample, length in zip(samples, lengths, strict=True):
            self.tables.grow(sample, length)
        return [Held(sample) for sample in samples]

    def _blocks(self, n_prompt: int, lengths: Sequence[int]) -> int:
        """Blocks of all samples together: full ones of the prompt are shared, others are not."""
        shared = n_prompt // self.tables.block_size
        return shared + sum(self.tables.blocks_for(length) - shared for length in lengths)

    def grow(self, held: Held, tokens: Sequence[int]) -> bool:
        if not self.tables.can_grow(held.table, len(tokens)):
            return False
        self.tables.grow(held.table, len(tokens))
        self.tables.remember(held.table, tokens)
        return True

    def close(self, held: Held) -> None:
        self.tables.close(held.table)

    @property
    def total(self) -> int:
        return len(self.tables.pool) * self.tables.block_size

    @property
    def reserved(self) -> int:
        return self.tables.pool.n_used * self.tables.block_size

    @property
    def used(self) -> int:
        size = self.tables.block_size
        filled: dict[int, int] = {}
        for table in self.tables.open_tables:
            for index, block in enumerate(table.blocks):
                rows = min(table.n_tokens - index * size, size)
                filled[block] = max(rows, filled.get(block, 0))
        return sum(filled.values())

    @property
    def unit_size(self) -> int:
        return self.tables.block_size

    @property
    def units(self) -> list[int]:
        return list(self.tables.pool.references)


class ReservedMemory(Memory):
    """One contiguous slab per sample, long enough for the longest text allowed."""

    def __init__(self, total: int, slab: int) -> None:
        if not 1 <= slab <= total:
            message = f"slabs of {slab} tokens do not fit in {total}: use 1 to {total}"
            raise BadInput(message)
        self.slab, self._total = slab, total
        self._slabs: list[Held | None] = [None] * (total // slab)

    def fits_alone(self, n_prompt: int, lengths: Sequence[int]) -> bool:
        return max(n_prompt, *lengths) <= self.slab and len(lengths) <= len(self._slabs)

    def open(self, prompt: Sequence[int], lengths: Sequence[int]) -> list[Held] | None:
        free = [i for i, held in enumerate(self._slabs) if held is None]
        if len(lengths) > len(free):
            return None
        self.prompt_tokens += len(prompt)
        held = [Held(BlockTable([i], n)) for i, n in zip(free, lengths, strict=False)]
        for one in held:
            self._slabs[one.table.blocks[0]] = one
        return held

    def grow(self, held: Held, tokens: Sequence[int]) -> bool:
        held.table.n_tokens = len(tokens)
        return len(tokens) <= self.slab

    def close(self, held: Held) -> None:
        self._slabs[held.table.blocks[0]] = None

    @property
    def total(self) -> int:
        return self._total

    @property
    def reserved(self) -> int:
        return sum(self.units) * self.slab

    @property
    def used(self) -> int:
        return sum(held.table.n_tokens for held in self._slabs if held is not None)

    @property
    def unit_size(self) -> int:
        return self.slab

    @property
    def units(self) -> list[int]:
        return [int(held is not None) for held in self._slabs]
