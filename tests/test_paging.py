"""Blocks change where keys and values are, never what attention reads or who reads it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from model.attention.attend import attend, causal_mask
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder
from model.errors import BadInput
from model.serving.blocks import BlockPool, OutOfBlocksError
from model.serving.paged import Paged, PagedCache, PagedLayer, PagedPool
from model.serving.paged_attention import attend_through_table
from model.serving.prefix import Digest
from model.serving.tables import BlockTable, BlockTables
from model.storage.contiguous import Contiguous

TOLERANCE = 1e-11
CAPACITY = 40
CONFIG = DecoderConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_head=6, d_model=12, vocab_size=5)
DECODER = Decoder(CONFIG, seed=3)
TOKENS = st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=1, max_size=9)


def ids(tokens: list[int]) -> torch.Tensor:
    return torch.tensor(tokens, dtype=torch.long)


def full_pass(tokens: list[int]) -> torch.Tensor:
    """Logits after every token, computed with no cache at all."""
    return DECODER(ids(tokens))


class WatchedPool(PagedPool):
    """A pool full of NaN that refuses to overwrite a row some open text still holds."""

    def __init__(self, n_blocks: int, block_size: int) -> None:
        super().__init__(DECODER.rooms(CAPACITY), BlockTables(n_blocks, block_size))
        self.texts: list[PagedCache] = []
        for x in (*self.k, *self.v):
            x.fill_(torch.nan)

    def write(self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        assert len(set(slots.tolist())) == len(slots)
        for text in self.texts:
            held = self.slots(text.table, 0, text[layer].length)
            assert not set(held.tolist()) & set(slots.tolist()), "a row in use was overwritten"
        super().write(layer, slots, k, v)


def pool_of(n_blocks: int = 16, block_size: int = 4) -> PagedPool:
    return PagedPool(DECODER.rooms(CAPACITY), BlockTables(n_blocks, block_size))


def run(cache: KVCache, tokens: list[int]) -> torch.Tensor:
    return DECODER(ids(tokens), cache)


def assert_books_balance(tables: BlockTables) -> None:
    pool = tables.pool
    entries = Counter(block for table in tables.open_tables for block in table.blocks)
    assert [entries[block] for block in range(len(pool))] == pool.references
    assert set(pool.free) == {b for b in range(len(pool)) if pool.references[b] == 0}
    assert pool.n_free + pool.n_used == len(pool)
    for table in tables.open_tables:
        assert len(set(table.blocks)) == len(table.blocks)
        assert len(table.blocks) == tables.blocks_for(table.n_tokens)
        assert len(table.blocks) * tables.block_size - table.n_tokens < tables.block_size


@dataclass
class Text:
    cache: PagedCache
    tokens: list[int] = field(default_factory=list)


class Serving(RuleBasedStateMachine):
    """Texts open, grow, fork, roll back and close in any order; each stays what it was."""

    texts = Bundle("texts")

    @initialize(block_size=st.integers(1, 5))
    def start(self, block_size: int) -> None:
        self.pool = WatchedPool(n_blocks=60 // block_size, block_size=block_size)
        self.finished: list[list[int]] = [[0, 1, 2, 3, 4, 0, 1, 2, 3]]

    @rule(target=texts, prompt=TOKENS, share=st.integers(0, 9), data=st.data())
    def open(self, prompt: list[int], share: int, data: st.DataObject) -> Text:
        known = data.draw(st.sampled_from(self.finished))
        prompt = known[:share] + prompt
        text = Text(self.pool.open(prompt))
        self.pool.texts.append(text.cache)
        assert text.cache.length < len(prompt), "at least one token has to run"
        text.tokens = prompt[: text.cache.length]
        self.grow(text, prompt[text.cache.length :])
        return text

    @rule(text=texts, tokens=TOKENS)
    def grow(self, text: Text, tokens: list[int]) -> None:
        after = text.tokens + tokens
        if len(after) > CAPACITY or not self.pool.tables.can_grow(text.cache.table, len(after)):
            before, free = list(text.cache.table.blocks), self.pool.tables.pool.free
            with pytest.raises(BadInput):
                run(text.cache, tokens)
            assert (text.cache.table.blocks, self.pool.tables.pool.free) == (before, free)
            return
        logits = run(text.cache, tokens)
        expected = full_pass(after)[-len(tokens) :]
        torch.testing.assert_close(logits, expected, rtol=0, atol=TOLERANCE)
        text.tokens = after
        text.cache.remember(after)

    @rule(target=texts, text=texts)
    def fork(self, text: Text) -> Text:
        twin = Text(text.cache.fork(), list(text.tokens))
        self.pool.texts.append(twin.cache)
        return twin

    @rule(text=texts, data=st.data())
    def roll_back(self, text: Text, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(text.tokens)))
        text.cache.crop(kept)
        text.tokens = text.tokens[:kept]

    @rule(text=consumes(texts))
    def close(self, text: Text) -> None:
        self.finished.append(text.tokens)
        self.pool.texts.remove(text.cache)
        text.cache.close()

    @rule(target=texts, text=texts, tokens=TOKENS)
    @precondition(lambda self: bool(self.pool.texts))
    def twins_diverge(self, text: Text, tokens: list[int]) -> object:
        twin = self.fork(text)
        self.grow(text, tokens)
        self.grow(twin, [(token + 1) % CONFIG.vocab_size for token in tokens])
        return multiple(twin)

    @invariant()
    def books_balance(self) -> None:
        if hasattr(self, "pool"):
            assert_books_balance(self.pool.tables)

    @invariant()
    def every_text_still_holds_its_own_rows(self) -> None:
        if hasattr(self, "pool"):
            for cache in self.pool.texts:
                for layer in cache.stores:
                    assert all(rows.isfinite().all() for rows in layer.read())


Serving.TestCase.settings = settings(max_examples=25, stateful_step_count=14, deadline=None)
TestPagedTextsStayWhatTheyWere = Serving.TestCase


@pytest.mark.parametrize("block_size", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("chunks", [(11,), (4, 7), (1,) * 11, (8, 1, 2)])
def test_paged_equals_contiguous_for_any_block_size_and_split(
    block_size: int, chunks: tuple[int, ...]
):
    tokens = [i * 3 % 5 for i in range(11)]
    paged = pool_of(16, block_size).open()
    contiguous = DECODER.new_cache(CAPACITY, store=Contiguous)
    for chunk in ids(tokens).split(chunks):
        a, b = DECODER(chunk, paged), DECODER(chunk, contiguous)
        torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE)
    for one, other in zip(paged.stores, contiguous.stores, strict=True):
        for x, y in zip(one.read(), other.read(), strict=True):
            torch.testing.assert_close(x, y, rtol=0, atol=TOLERANCE)


@given(st.permutations(range(8)), st.integers(1, 4))
def test_the_order_of_physical_blocks_does_not_matter(order: list[int], block_size: int):
    pool = pool_of(8, block_size)
    pool.tables.pool.allocate(8)
    pool.tables.pool.release(order[::-1])  # now they come in this order
    text = pool.open()
    logits = run(text, [1, 2, 3, 4, 0, 1, 2, 3][: 8 * block_size])
    torch.testing.assert_close(logits, full_pass([1, 2, 3, 4, 0, 1, 2, 3]), rtol=0, atol=TOLERANCE)
    assert text.table.blocks == list(order[: pool.tables.blocks_for(8)])


@given(st.integers(0, 13), st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**31))
def test_attention_through_the_table_equals_attention(
    older: int, new: int, block_size: int, seed: int
):
    generator = torch.Generator().manual_seed(seed)
    pool = pool_of(20, block_size)
    store = PagedLayer(pool, 1, pool.tables.open())
    rows = torch.randn(2, 2, older + new, 6, dtype=torch.float64, generator=generator)
    q = torch.randn(4, new, 6, dtype=torch.float64, generator=generator)
    store.append(rows[0], rows[1])
    mask = causal_mask(torch.arange(older, older + new), torch.arange(older + new))
    expected, _ = attend(q, rows[0], rows[1], mask)
    result = attend_through_table(q, store, mask)
    torch.testing.assert_close(result, expected, rtol=0, atol=TOLERANCE)


def test_a_paged_layer_of_its_own_fits_the_decoder():
    cache = DECODER.new_cache(CAPACITY, store=Paged)
    logits = torch.cat([run(cache, [1, 2, 3]), run(cache, [4, 0, 1])])
    expected = full_pass([1, 2, 3, 4, 0, 1])
    torch.testing.assert_close(logits, expected, rtol=0, atol=TOLERANCE)
    fork = cache.fork()
    run(cache, [2])
    logits = run(fork, [3])
    expected = full_pass([1, 2, 3, 4, 0, 1, 3])[-1:]
    torch.testing.assert_close(logits, expected, rtol=0, atol=TOLERANCE)


def test_two_users_of_a_shared_tail_never_see_each_other():
    pool = pool_of(block_size=4)
    a = pool.open()
    run(a, [0, 1, 2, 3, 4, 0])  # one full block and half a block
    b = a.fork()
    shared_tail = a.table.blocks[1]
    assert pool.tables.pool.references[shared_tail] == 2
    logits_a, logits_b = run(a, [1]), run(b, [2])
    expected_a = full_pass([0, 1, 2, 3, 4, 0, 1])[-1:]
    expected_b = full_pass([0, 1, 2, 3, 4, 0, 2])[-1:]
    torch.testing.assert_close(logits_a, expected_a, rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(logits_b, expected_b, rtol=0, atol=TOLERANCE)
    assert a.table.blocks[1] != b.table.blocks[1]
    assert b.table.blocks[1] == shared_tail, "the last holder writes in place"
    assert pool.tables.pool.n_used == 3, "two samples of 7 tokens: 3 blocks, not 4"


@pytest.mark.parametrize("block_size", [1, 2, 4, 8])
@pytest.mark.parametrize("shared", range(9))
def test_a_common_beginning_shares_its_full_blocks(shared: int, block_size: int):
    pool = pool_of(40, block_size)
    first = [0, 1, 2, 3, 4, 3, 2, 1]
    second = [*first[:shared], *[(token + 1) % 5 for token in first[shared:]]]
    a = pool.open(first)
    run(a, first)
    a.remember(first)
    b = pool.open(second)
    hits = min(shared, len(second) - 1) // block_size
    assert b.length == hits * block_size
    assert b.table.blocks == a.table.blocks[:hits]
    logits = run(b, second[b.length :])
    torch.testing.assert_close(logits, full_pass(second)[-len(logits) :], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("block_size", "reused"), [(4, 4), (1, 7), (8, 0), (3, 6)])
def test_a_full_prefix_hit_still_runs_a_token(block_size: int, reused: int):
    pool, prompt = pool_of(40, block_size), [0, 1, 2, 3, 4, 3, 2, 1]
    first = pool.open(prompt)
    last = run(first, prompt)[-1:]
    first.remember(prompt)
    again = pool.open(prompt)
    assert again.length == reused
    torch.testing.assert_close(run(again, prompt[reused:])[-1:], last, rtol=0, atol=TOLERANCE)


def test_equal_tokens_after_another_beginning_are_not_shared():
    tables = BlockTables(8, 2)
    first = tables.open([1, 2, 3, 4, 5])
    tables.grow(first, 5)
    tables.remember(first, [1, 2, 3, 4, 5])
    assert tables.open([1, 2, 3, 4, 9]).n_tokens == 4
    assert tables.open([9, 2, 3, 4, 9]).n_tokens == 0
    assert tables.open([3, 4, 5]).n_tokens == 0


WEAK_DIGESTS: dict[str, Digest] = {
    "always the same": lambda _: b"same",
    "three values": lambda data: bytes([sum(data) % 3]),
    "forgets the parent": lambda data: data.rpartition(b"|")[2],
}


@given(st.lists(TOKENS, min_size=2, max_size=6), st.integers(1, 3))
@pytest.mark.parametrize("digest", WEAK_DIGESTS.values(), ids=WEAK_DIGESTS.keys())
def test_a_digest_that_collides_shares_nothing_wrong(
    digest: Digest, texts: list[list[int]], size: int
):
    tables = BlockTables(400, size, digest=digest)
    content: dict[int, list[int]] = {}
    for tokens in [*texts, *(a + b for a in texts for b in texts[:2])]:
        table = tables.open(tokens)
        for i, block in enumerate(table.blocks):
            assert content[block] == tokens[: (i + 1) * size]
        tables.grow(table, len(tokens))
        tables.remember(table, tokens)
        content |= {b: tokens[: (i + 1) * size] for i, b in enumerate(table.blocks)}
    assert_books_balance(tables)


def test_a_salt_keeps_tenants_apart():
    keys = {
        salt: list(BlockTables(4, 2, salt=salt).prefixes._pieces([1, 2, 3]))  # the chain itself
        for salt in ("", "a", "b")
    }
    assert len({piece[0][0] for piece in keys.values()}) == 3


def admit(tables: BlockTables, tokens: list[int]) -> BlockTable:
    table = tables.open(tokens)
    tables.grow(table, len(tokens))
    tables.remember(table, tokens)
    return table


def test_the_block_manager_of_the_vllm_design_document_is_reproduced():
    tables, text = BlockTables(10, 4), list(range(17))
    zero = admit(tables, text[:15])
    assert zero.blocks == [0, 1, 2, 3]
    tables.grow(zero, 17)
    tables.remember(zero, text)
    assert zero.blocks == [0, 1, 2, 3, 4]
    one = admit(tables, [*text[:10], 90, 91, 92, 93])
    assert one.blocks == [0, 1, 5, 6]
    tables.close(zero)
    assert tables.pool.free == (7, 8, 9, 4, 3, 2)
    tables.close(one)
    assert tables.pool.free == (7, 8, 9, 4, 3, 2, 6, 5, 1, 0)
    two = admit(tables, [*text[:12], *range(50, 67)])
    assert two.blocks == [0, 1, 2, 7, 8, 9, 4, 3]
    assert tables.pool.free == (6, 5)


def test_the_block_unused_for_longest_is_evicted_first_and_then_misses():
    tables = BlockTables(4, 2)
    for tokens in ([1, 1, 1], [2, 2, 2]):
        tables.close(admit(tables, tokens))
    tables.close(admit(tables, [1, 1, 5]))  # used again: now the younger one
    tables.grow(tables.open(), 6)  # takes three of the four blocks
    assert tables.open([2, 2, 0]).n_tokens == 0
    assert tables.open([1, 1, 0]).n_tokens == 2


def test_a_block_in_use_is_never_evicted():
    tables = BlockTables(3, 2)
    held = admit(tables, [1, 1, 2, 2])
    with pytest.raises(OutOfBlocksError, match="2 blocks needed, 1 free"):
        tables.grow(tables.open(), 3)
    assert held.blocks == [0, 1]


def test_rolling_back_into_a_shared_block_and_writing_on_spares_the_other_reader():
    tables = BlockTables(8, 2)
    first = admit(tables, [1, 2, 3, 4, 5])
    second = tables.open([1, 2, 3, 4, 9])
    assert second.blocks == first.blocks[:2]
    tables.crop(first, 3)
    (copy,) = tables.grow(first, 4)
    assert copy.source == second.blocks[1] != first.blocks[1] == copy.target


def test_overwriting_a_remembered_block_makes_it_unfindable():
    tables = BlockTables(8, 2)
    table = admit(tables, [1, 2, 3, 4, 5])
    tables.crop(table, 3)
    assert tables.grow(table, 4) == []
    assert tables.open([1, 2, 3, 4, 9]).n_tokens == 2


@pytest.mark.parametrize("n_tokens", range(18))
def test_a_block_is_taken_exactly_when_a_multiple_is_passed(n_tokens: int):
    tables = BlockTables(8, 4)
    table = tables.open()
    sizes = []
    for n in range(1, n_tokens + 1):
        before = len(table.blocks)
        tables.grow(table, n)
        sizes.append(len(table.blocks) - before)
    assert sizes == [int(i % 4 == 0) for i in range(n_tokens)]


def test_worked_waste_is_reproduced():
    tables = BlockTables(10, 16)
    assert sum(map(tables.blocks_for, (5, 16, 33))) == 5


def test_releasing_what_nobody_holds_is_refused():
    pool = BlockPool(2)
    (block,) = pool.allocate(1)
    pool.release([block])
    with pytest.raises(ValueError, match="nobody holds"):
        pool.release([block])
    assert pool.references == [0, 0]


IMPOSSIBLE = {
    "no blocks": lambda: BlockPool(0),
    "empty blocks": lambda: BlockTables(3, 0),
    "crop past the end": lambda: pool_of().open()[0].crop(1),
}


@pytest.mark.parametrize("make", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_impossible_sizes_are_refused(make: Callable[[], object]):
    with pytest.raises(BadInput, match=r"\d"):
        make()
