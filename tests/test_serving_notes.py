"""Dropping, reusing and moving a cache: each rule keeps its promise, each number its source."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.attention.attend import attend, causal_mask
from model.attention.flash_traffic import flash_traffic, key_blocks, standard_traffic
from model.errors import BadInput
from model.hardware import CHIPS
from model.serving.eviction import heavy_hitters, observed_by_the_end
from model.serving.prefix_tree import PrefixTree
from model.serving.prefix_tree_record import record_growth
from model.serving.tables import BlockTables
from model.serving.transfer import (
    LINKS,
    break_even_bytes_per_s,
    cache_bytes,
    handover_bits_per_s,
    load_seconds,
    recompute_seconds,
    rows_read_in_chunks,
)
from model.work_of import work_of

H100 = CHIPS["h100"]
SIZES = st.integers(1, 12)
TEXTS = st.lists(st.lists(st.integers(0, 2), max_size=8), min_size=1, max_size=12)


def attention_rows(seen: int, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, 1, seen, 4, dtype=torch.float64, generator=generator)
    positions = torch.arange(seen)
    mixed, weights = attend(q, k, v, causal_mask(positions, positions))
    return q, k, v, mixed, weights[0]


@given(SIZES, st.integers(0, 14), st.integers(0, 14), st.integers(0, 99))
def test_h2o_keeps_its_budget_and_the_newest(seen: int, heavy: int, recent: int, seed: int):
    weights = attention_rows(seen, seed)[-1]
    kept = heavy_hitters(weights, heavy=heavy, recent=recent).tolist()
    assert len(kept) == min(seen, heavy + recent) or heavy > max(seen - recent, 0)
    assert kept == sorted(set(kept))
    assert set(range(max(seen - recent, 0), seen)) <= set(kept)
    dropped = set(range(seen)) - set(kept)
    older = [j for j in kept if j < seen - recent]
    scores = weights.sum(0)
    assert all(scores[j] >= scores[i] for j in older for i in dropped)


def test_h2o_scores_add_up_to_the_queries_processed():
    weights = attention_rows(9)[-1]
    assert weights.sum().item() == pytest.approx(9)


@given(SIZES, st.integers(1, 5), st.integers(0, 14), st.sampled_from([1, 3, 5]))
def test_snapkv_keeps_its_capacity_and_the_observers(
    older: int, observers: int, extra: int, kernel: int
):
    weights = attention_rows(older + observers)[-1][-observers:]
    capacity = observers + extra
    kept = observed_by_the_end(weights, capacity=capacity, kernel=kernel).tolist()
    assert len(kept) == min(capacity, older + observers)
    assert kept == sorted(set(kept))
    assert set(range(older, older + observers)) <= set(kept)


def test_a_budget_as_long_as_the_text_changes_no_output():
    q, k, v, mixed, weights = attention_rows(8)
    for kept in (
        heavy_hitters(weights, heavy=4, recent=4),
        observed_by_the_end(weights[-3:], capacity=8),
    ):
        again, _ = attend(q[:, -1:], k[:, kept], v[:, kept])
        torch.testing.assert_close(again, mixed[:, -1:], rtol=0, atol=1e-12)


def test_snapkv_smoothing_keeps_the_surroundings_of_a_peak():
    weights = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    assert observed_by_the_end(weights, capacity=4, kernel=3).tolist() == [2, 3, 4, 7]
    assert observed_by_the_end(weights, capacity=4, kernel=1).tolist() == [0, 1, 3, 7]


@settings(max_examples=60)
@given(TEXTS)
def test_a_tree_finds_the_longest_beginning_and_stores_it_once(texts: list[list[int]]):
    tree, stored = PrefixTree(), set[tuple[int, ...]]()
    for text in texts:
        beginnings = {tuple(text[:n]) for n in range(1, len(text) + 1)}
        longest = max((len(b) for b in beginnings & stored), default=0)
        assert tree.match(text) == longest
        assert tree.insert(text) == (longest, len(text) - longest)
        stored |= beginnings
        assert len(tree) == len(stored)
        assert tree.match(text) == len(text)


@given(TEXTS, st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_a_tree_hits_what_a_chain_of_one_token_blocks_hits(texts: list[list[int]], new: list[int]):
    tree, tables = PrefixTree(), BlockTables(400, 1)
    for text in texts:
        tree.insert(text)
        table = tables.open(text)
        tables.grow(table, len(text))
        tables.remember(table, text)
    assert tables.open([*new, 9]).n_tokens == tree.match(new)


@given(TEXTS, st.integers(0, 30))
def test_eviction_spares_what_is_locked(texts: list[list[int]], n_tokens: int):
    tree = PrefixTree()
    for text in texts:
        tree.insert(text)
    before = len(tree)
    tree.lock(texts[0])
    dropped = tree.evict(n_tokens)
    assert len(tree) == before - dropped
    assert tree.match(texts[0]) == len(texts[0])
    assert dropped >= min(n_tokens, before - len(texts[0]))
    tree.lock(texts[0], -1)
    tree.evict(10**6)
    assert len(tree) == 0


def test_the_leaf_unused_for_longest_goes_first():
    tree = PrefixTree()
    for text in ([1, 2, 3], [1, 2, 4], [5]):
        tree.insert(text)
    tree.match([1, 2, 3])
    assert tree.evict(1) == 1
    assert (tree.match([1, 2, 4]), tree.match([1, 2, 3]), tree.match([5])) == (2, 3, 1)


def test_worked_loads_are_reproduced():
    work = work_of("Llama 3 70B")
    assert cache_bytes(work, 32_768) == 10 * 2**30
    seconds = {name: load_seconds(work, 32_768, link) for name, link in LINKS.items()}
    expected = {
        "pcie4": 0.34, "pcie5": 0.17, "400gbit": 0.21, "200gbit": 0.43, "nvme": 1.53,
        "nvlink": 0.024,
    }  # fmt: skip
    assert seconds == pytest.approx(expected, abs=6e-3)


def test_loading_beats_recomputing_above_the_break_even_rate():
    work = work_of("Llama 3 8B")
    rate = break_even_bytes_per_s(work, 1, H100)
    block_weights = sum(layer.weights for layer in work.layers)  # tables are not recomputed
    assert rate * block_weights / 8_030_261_248 == pytest.approx(4.04e9, rel=2e-3)
    for tokens in (1, 2048, 32_768):
        rate = break_even_bytes_per_s(work, tokens, H100)
        seconds = cache_bytes(work, tokens) / rate
        assert seconds == pytest.approx(recompute_seconds(work, tokens, H100))
    assert break_even_bytes_per_s(work, 32_768, H100) < break_even_bytes_per_s(work, 1, H100)


def test_worked_handovers_are_reproduced():
    opt = work_of("OPT-13B")  # 40 layers of 5,120; OPT-66B has 64 of 9,216
    per_token = cache_bytes(opt, 1) / (40 * 5120) * (64 * 9216)
    assert per_token * 512 == 1_207_959_552
    assert 8 * per_token * 512 * 10 == pytest.approx(96.6e9, rel=1e-3)
    assert cache_bytes(work_of("Llama 3 70B"), 131_072) == 40 * 2**30
    assert handover_bits_per_s(opt, 512, 10.0) == 8 * 10 * cache_bytes(opt, 512)


@given(st.integers(1, 300), st.integers(1, 320))
def test_chunks_read_every_earlier_row_again(tokens: int, chunk: int):
    cached, read = 0, 0
    while cached < tokens:
        cached = min(cached + chunk, tokens)
        read += cached
    assert rows_read_in_chunks(tokens, chunk) == read


def test_worked_chunked_prefill_is_reproduced():
    assert rows_read_in_chunks(8_192, 512) == 69_632
    assert rows_read_in_chunks(8_192, 8_192) == 8_192


def test_worked_flash_traffic_is_reproduced():
    assert key_blocks(4096, 64, 51_200) == 21
    assert standard_traffic(4096, 64) / flash_traffic(4096, 64, 51_200) == pytest.approx(
        4, abs=0.01
    )


REFUSED = {
    "negative budget": lambda: heavy_hitters(torch.zeros(1, 1), heavy=-1, recent=0),
    "room for no observer": lambda: observed_by_the_end(torch.zeros(3, 9), capacity=2),
    "even kernel": lambda: observed_by_the_end(torch.zeros(3, 9), capacity=4, kernel=2),
    "no chunk": lambda: rows_read_in_chunks(5, 0),
    "no efficiency": lambda: recompute_seconds(work_of("Llama 3 8B"), 1, H100, efficiency=0.0),
    "tiny chip": lambda: key_blocks(8, 64, 10),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_questions_are_refused(case: str):
    with pytest.raises(BadInput, match=r"\d"):
        REFUSED[case]()


WORDS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), min_size=1, max_size=6)


@given(WORDS, st.integers(1, 4))
def test_a_growing_tree_holds_each_beginning_once(texts: list[list[str]], block_size: int):
    beginnings: set[tuple[str, ...]] = set()
    for i, one in enumerate(record_growth(texts, block_size)):
        text = texts[i]
        there = [n for n in range(len(text) + 1) if not n or tuple(text[:n]) in beginnings]
        assert one["found"] == max(there)
        assert one["by_blocks"] <= one["found"]
        assert one["by_blocks"] % block_size == 0
        beginnings |= {tuple(text[:n]) for n in range(1, len(text) + 1)}
        assert one["rows"] == len(beginnings) == sum(len(edge["words"]) for edge in one["edges"])
        assert one["alone"] == sum(map(len, texts[: i + 1]))


@given(WORDS)
def test_every_text_can_be_read_along_the_edges_of_its_tree(texts: list[list[str]]):
    edges = record_growth(texts, 2)[-1]["edges"]
    places = [(edge["line"], edge["start"]) for edge in edges]
    assert len(set(places)) == len(places)
    for text in texts:
        at, line = 0, None
        while at < len(text):
            following = [
                edge
                for edge in edges
                if edge["start"] == at
                and edge["words"] == text[at : at + len(edge["words"])]
                and (line is None or edge["parent"] == line)
            ]
            assert following
            at, line = at + len(following[0]["words"]), following[0]["line"]
