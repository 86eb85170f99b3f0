"""A pattern is one predicate; what it counts and what it lets a cache drop follow from it."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model import masks, patterns, stacks
from model.errors import BadInput
from model.facts import fact
from model.patterns import PATTERNS

SIZES = {
    "full": [{}],
    "causal": [{}],
    "cross": [{"n_source": 5}, {"n_source": 1}],
    "window": [{"width": 1}, {"width": 4}, {"width": 40}],
    "window-sinks": [{"width": 3, "n_sinks": 2}, {"width": 4, "n_sinks": 0}],
    "prefix": [{"n_prefix": 0}, {"n_prefix": 3}, {"n_prefix": 40}],
    "strided": [{"stride": 1}, {"stride": 4}, {"stride": 7}],
    "fixed": [{"block": 4, "n_summary": 1}, {"block": 5, "n_summary": 2}],
    "dilated": [{"width": 4, "gap": 2}, {"width": 2, "gap": 5}],
}
LONG = 90  # longer than every reach below


def matrix(name: str, sizes: dict[str, int], n: int) -> Tensor:
    n_keys = sizes.get("n_source", n)
    may_read = PATTERNS[name](**sizes).may_read
    return masks.mask(may_read, torch.arange(n), torch.arange(n_keys))


def test_every_pattern_is_tried():
    assert set(SIZES) == set(PATTERNS)


@pytest.mark.parametrize("name", SIZES)
def test_the_closed_form_counts_the_true_cells(name: str):
    for sizes in SIZES[name]:
        for n in range(1, 41):
            assert PATTERNS[name](**sizes).n_pairs(n) == int(matrix(name, sizes, n).sum())


@pytest.mark.parametrize("name", SIZES)
def test_a_row_may_go_exactly_when_no_later_query_reads_it(name: str):
    for sizes in SIZES[name]:
        pattern = PATTERNS[name](**sizes)
        for n in range(1, 25):
            n_keys = sizes.get("n_source", n)
            later = masks.mask(pattern.may_read, torch.arange(n, LONG), torch.arange(n_keys))
            assert torch.equal(pattern.needed(n), later.any(dim=0))


@pytest.mark.parametrize("name", sorted(set(SIZES) - {"full", "cross", "prefix"}))
def test_no_query_reads_a_later_key_and_all_read_their_own(name: str):
    for sizes in SIZES[name]:
        square = matrix(name, sizes, 23)
        assert not square.triu(diagonal=1).any()
        assert square.diagonal().all()


@given(
    width=st.integers(1, 9), i=st.lists(st.integers(0, 50), min_size=1), shift=st.integers(0, 99)
)
def test_masks_follow_positions_not_places_in_the_matrix(width: int, i: list[int], shift: int):
    queries, keys = torch.tensor(i), torch.arange(50)
    for pattern in (masks.causal, masks.window(width), masks.dilated(width, 2)):
        plain = masks.mask(pattern, queries, keys)
        assert torch.equal(plain, masks.mask(pattern, queries + shift, keys + shift))
        assert torch.equal(plain.flip(-1), masks.mask(pattern, queries, keys.flip(0)))


def test_a_window_as_long_as_the_text_is_causal():
    assert torch.equal(masks.square(masks.window(12), 12), masks.square(masks.causal, 12))


def test_a_window_row_reads_min_of_place_and_width():
    rows = masks.square(masks.window(4), 10).sum(dim=-1)
    assert rows.tolist() == [min(i + 1, 4) for i in range(10)]


def test_prefix_is_causal_at_one_and_full_at_all():
    for n_prefix in (0, 1):
        assert torch.equal(masks.square(masks.prefix(n_prefix), 8), masks.square(masks.causal, 8))
    assert masks.square(masks.prefix(8), 8).all()


def test_hand_counts_are_met():
    assert patterns.window(4).n_pairs(10) == 34
    assert patterns.window(4096).n_pairs(8192) == 25_167_872
    assert patterns.prefix(3).n_pairs(8) == 39
    assert patterns.prefix(6).n_pairs(6) == 36
    assert patterns.strided(4).n_pairs(16) == 82
    assert patterns.fixed(4, 1).n_pairs(16) == 64
    assert patterns.fixed(4, 2).n_pairs(16) == 88
    assert patterns.strided(32).n_pairs(1024) == 48_144
    assert patterns.fixed(32, 1).n_pairs(1024) == 32_768
    assert patterns.strided(64).n_pairs(4096) == 389_152
    assert patterns.dilated(4, 2).n_pairs(16) == 52
    assert matrix("dilated", {"width": 4, "gap": 2}, 16)[15].nonzero().flatten().tolist() == [
        9,
        11,
        13,
        15,
    ]


@given(side=st.integers(1, 40))
def test_fixed_reads_exactly_n_root_n_pairs(side: int):
    assert patterns.fixed(side, 1).n_pairs(side**2) == side**3
    twice_strided = 3 * side**3 - 2 * side**2 + side
    assert 2 * patterns.strided(side).n_pairs(side**2) == twice_strided


@pytest.mark.parametrize(
    "pattern",
    [masks.strided(4), masks.fixed(4, 1), masks.fixed(5, 2)],
    ids=["strided", "fixed-1", "fixed-2"],
)
def test_two_hops_of_a_sparse_pattern_reach_everything(pattern: masks.Predicate):
    hops = masks.square(pattern, 25)
    assert torch.equal(stacks.reachable([hops, hops]), masks.square(masks.causal, 25))


@pytest.mark.parametrize(("size", "n"), [(4, 16), (8, 64), (5, 23)])
def test_fixed_parts_as_layers_need_their_order_and_strided_ones_do_not(size: int, n: int):
    local, summary = (
        masks.square(part, n) for part in (masks.own_block(size), masks.summaries(size, 1))
    )
    everything = masks.square(masks.causal, n)
    assert torch.equal(stacks.reachable([local, summary]), everything)
    assert not torch.equal(stacks.reachable([summary, local]), everything)
    columns = [masks.square(part, n) for part in (masks.window(size), masks.every(size))]
    assert torch.equal(stacks.reachable(columns), everything)
    assert torch.equal(stacks.reachable(columns[::-1]), everything)


def test_the_wrong_order_knows_the_last_key_of_a_closed_block_alone():
    assert fact("fixed-summaries-lower").text == "chosen"
    for query, block in ((15, 0), (13, 2), (6, 0)):
        layers = [masks.square(p, 16) for p in (masks.summaries(4, 1), masks.own_block(4))]
        known = stacks.reachable(layers)[query, 4 * block : 4 * block + 4]
        assert known.tolist() == [False, False, False, True]


@given(widths=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_the_receptive_field_is_the_sum_of_reaches_and_one(widths: list[int]):
    field = stacks.receptive_field(widths)
    assert int(stacks.seen_through(widths, 40)[-1]) == field
    alike = [widths[0]] * len(widths)
    assert stacks.receptive_field(alike) == len(widths) * (widths[0] - 1) + 1


def test_published_receptive_fields_are_met():
    assert [stacks.receptive_field([w] * n) for n, w in ((2, 4), (3, 4), (4, 3))] == [7, 10, 9]
    assert stacks.receptive_field([4096] * 32) == 131_041


def test_one_dilation_visits_only_its_own_residue():
    layer = masks.square(masks.dilated(3, 2), 20)
    reached = stacks.reachable([layer] * 3)[19].nonzero().flatten()
    assert (19 - reached).tolist() == list(range(12, -1, -2))


def test_published_stacks_keep_the_rows_they_are_known_for():
    gemma = stacks.gemma_3(62)
    assert gemma.count(None) == 10
    assert stacks.gemma_3(26, 512).count(None) == 4
    assert stacks.gemma_3(34).count(None) == 5
    assert stacks.gemma_3(48).count(None) == 8
    assert stacks.gemma_2(42)[:2] == (4096, None)
    assert stacks.share_kept(gemma, 32_768) == 0.1875
    assert round(stacks.share_kept(gemma, 131_072), 3) == 0.168
    assert sum(stacks.rows_kept(stacks.gpt_oss(36), 131_072)) * 2 * 8 * 64 * 2 == 4612.5 * 2**20
    assert stacks.share_kept(stacks.gemma_2(42), 8192) == 0.75


@given(n_tokens=st.integers(1, 128))
def test_short_texts_save_nothing_with_windows(n_tokens: int):
    assert stacks.share_kept(stacks.gpt_oss(36), n_tokens) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: masks.window(0),
        lambda: masks.every(0),
        lambda: masks.dilated(2, 0),
        lambda: patterns.fixed(4, 5),
    ],
    ids=["window", "stride", "gap", "summaries"],
)
def test_impossible_sizes_are_refused(make: Callable[[], object]):
    with pytest.raises(BadInput, match=r"\d"):
        make()
