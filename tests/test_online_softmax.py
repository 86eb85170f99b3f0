"""Softmax in blocks is softmax: for any cut, any order, any scores a computer can hold."""

import math
from functools import reduce

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.attention.attend import attend, causal_mask
from model.attention.online_record import record_blocks
from model.attention.online_softmax import (
    Partial,
    absorb,
    attend_in_blocks,
    blocks_of,
    merge,
    nothing,
    online_softmax,
    read_block,
)
from model.errors import BadInput

TOLERANCE = 1e-12
INF = math.inf

ADVERSARIAL = {
    "plain": [1.0, 3.0, 2.0, 5.0, -1.0],
    "huge": [1e4, -1e4, 1e4, 9_999.0, 0.0],
    "at the end of the range": [1.7e308, -1.7e308, 1e308, 1.7e308],
    "all equal": [700.0] * 6,
    "one late maximum": [*[0.0] * 7, 800.0],
    "one early maximum": [800.0, *[0.0] * 7],
    "ever rising": [float(10 * i) for i in range(9)],
    "hidden first": [-INF, -INF, -INF, 2.0, 1.0],
    "hidden last": [2.0, 1.0, -INF, -INF, -INF],
    "hidden between": [2.0, -INF, -INF, -INF, 1e4],
    "one visible": [-INF, -INF, -3e4, -INF],
    "tiny differences": [1e-300, 2e-300, 0.0, -1e-300],
}
SCORE = st.one_of(
    st.floats(-1e4, 1e4), st.sampled_from([-INF, 0.0, 1e4, -1e4, 700.0]), st.floats(-3, 3)
)
ROW = st.lists(SCORE, min_size=1, max_size=14)
SEED = st.integers(0, 2**31)


def values_for(n_keys: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_keys, 3, dtype=torch.float64, generator=generator)


def row(scores: list[float]) -> torch.Tensor:
    return torch.tensor(scores, dtype=torch.float64)[None]


def direct(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Softmax over the whole row at once; zeros where no key may be seen."""
    blind = (scores == -INF).all(dim=-1, keepdim=True)
    return scores.softmax(dim=-1).masked_fill(blind, 0.0) @ values


def assert_same(a: Partial, b: Partial) -> None:
    for x, y in zip((a.result(), a.log_sum_exp()), (b.result(), b.log_sum_exp()), strict=True):
        torch.testing.assert_close(x, y, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("scores", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
@pytest.mark.parametrize("block_size", [1, 2, 3, 4, 100])
def test_adversarial_rows_equal_the_direct_softmax(scores: list[float], block_size: int):
    values = values_for(len(scores))
    state = online_softmax(row(scores), values, block_size)
    expected = direct(row(scores), values)
    torch.testing.assert_close(state.result(), expected, rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(
        state.log_sum_exp(), row(scores).logsumexp(-1), rtol=1e-15, atol=TOLERANCE
    )


@given(ROW, st.integers(1, 16), SEED)
def test_any_block_size_equals_the_direct_softmax(scores: list[float], size: int, seed: int):
    values = values_for(len(scores), seed)
    result = online_softmax(row(scores), values, size).result()
    torch.testing.assert_close(result, direct(row(scores), values), rtol=0, atol=TOLERANCE)


@given(ROW, st.integers(1, 5), st.randoms(use_true_random=False), SEED)
def test_parts_merge_in_any_order(scores: list[float], size: int, order: object, seed: int):
    values = values_for(len(scores), seed)
    parts = [read_block(*block) for block in blocks_of(row(scores), values, size)]
    whole = read_block(row(scores), values)
    order.shuffle(parts)  # type: ignore[attr-defined]
    assert_same(reduce(merge, parts), whole)
    while len(parts) > 1:  # a tree instead of a chain
        parts = [reduce(merge, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    assert_same(parts[0], whole)


@given(ROW, SEED)
def test_merging_with_nothing_changes_no_bit(scores: list[float], seed: int):
    part = read_block(row(scores), values_for(len(scores), seed))
    empty = nothing(part.mix)
    for joined in (merge(part, empty), merge(empty, part)):
        assert torch.equal(joined.maximum, part.maximum)
        assert torch.equal(joined.total, part.total)
        assert torch.equal(joined.mix, part.mix)


def test_empty_parts_stay_empty_and_never_become_nan():
    hidden = read_block(row([-INF, -INF]), values_for(2))
    none = read_block(row([]), values_for(0))
    for part in (hidden, none, merge(hidden, none), merge(hidden, hidden)):
        assert part.maximum.tolist() == [-INF]
        assert part.total.tolist() == [0.0]
        assert part.result().tolist() == [[0.0, 0.0, 0.0]]
        assert part.log_sum_exp().tolist() == [-INF]


def test_no_keys_at_all_give_zeros():
    assert online_softmax(row([]), values_for(0), 4).result().tolist() == [[0.0, 0.0, 0.0]]


def test_the_average_of_two_halves_is_not_the_merge():
    scores, values = row([0.0, math.log(2), math.log(3), math.log(4)]), torch.arange(1.0, 5)
    column = values.double()[:, None]
    left = read_block(scores[:, :3], column[:3])
    right = read_block(scores[:, 3:], column[3:])
    assert merge(left, right).result().item() == pytest.approx(3.0, abs=TOLERANCE)
    assert merge(left, right).log_sum_exp().item() == pytest.approx(math.log(10), abs=TOLERANCE)
    average = (left.result() + right.result()) / 2
    assert average.item() == pytest.approx(19 / 6)


@given(ROW, st.integers(1, 5))
def test_the_maximum_never_falls_and_the_total_is_at_least_one(scores: list[float], size: int):
    maximum = -INF
    for state in absorb(blocks_of(row(scores), values_for(len(scores)), size)):
        assert state.maximum.item() >= maximum
        assert state.total.item() >= 1 or state.maximum.item() == -INF
        maximum = state.maximum.item()


@given(ROW, st.floats(-1e3, 1e3))
def test_adding_a_constant_to_all_scores_changes_nothing(scores: list[float], shift: float):
    values = values_for(len(scores))
    plain, moved = (online_softmax(row(scores) + c, values, 2).result() for c in (0.0, shift))
    torch.testing.assert_close(plain, moved, rtol=0, atol=1e-10)  # the sum itself is rounded


def test_a_sink_logit_is_a_key_with_a_zero_value_counted_once():
    scores, values = row([0.0, 0.0]), torch.tensor([[3.0], [6.0]], dtype=torch.float64)
    sink = Partial(torch.zeros(1).double(), torch.ones(1).double(), torch.zeros(1, 1).double())
    assert merge(sink, online_softmax(scores, values, 1)).result().item() == pytest.approx(3.0)


@given(st.integers(1, 7), st.integers(0, 9), st.integers(1, 12), SEED)
def test_attention_in_blocks_equals_attention(new: int, older: int, size: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    seen = older + new
    q = torch.randn(2, 4, new, 6, dtype=torch.float64, generator=generator) * 5
    k = torch.randn(2, 2, seen, 6, dtype=torch.float64, generator=generator) * 5
    v = torch.randn(2, 2, seen, 3, dtype=torch.float64, generator=generator)
    mask = causal_mask(torch.arange(older, seen), torch.arange(seen))
    whole, _ = attend(q, k, v, mask)
    blocked = attend_in_blocks(q, k, v, mask, block_size=size)
    torch.testing.assert_close(blocked, whole, rtol=0, atol=TOLERANCE)


def test_attention_in_blocks_equals_pytorch():
    generator = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(1, 4, 9, 8, dtype=torch.float64, generator=generator) for _ in "qkv")
    oracle = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = causal_mask(torch.arange(9), torch.arange(9))
    blocked = attend_in_blocks(q, k, v, mask, block_size=2)
    torch.testing.assert_close(blocked, oracle, rtol=0, atol=TOLERANCE)


def test_a_recording_reproduces_the_worked_example():
    scores = torch.tensor([1.0, 3.0, 2.0, 5.0], dtype=torch.float64)
    values = torch.tensor([[10.0], [20.0], [30.0], [40.0]], dtype=torch.float64)
    first, second = record_blocks(scores, values, block_size=2)
    assert (first.maximum, first.rescale) == (3.0, 0.0)
    assert first.total == pytest.approx(1.1353353, abs=1e-7)
    assert first.mix[0] == pytest.approx(21.3533528, abs=1e-7)
    assert second.rescale == pytest.approx(0.1353353, abs=1e-7)
    assert second.total == pytest.approx(1.2034380, abs=1e-7)
    assert second.mix[0] == pytest.approx(44.3834741, abs=1e-7)
    assert second.output[0] == pytest.approx(36.8805659, abs=1e-7)
    assert math.log(second.total) + second.maximum == pytest.approx(5.1851825, abs=1e-7)


@given(ROW, st.integers(1, 5), SEED)
def test_every_recorded_total_is_the_old_one_rescaled_plus_the_new_weights(
    scores: list[float], size: int, seed: int
):
    total = 0.0
    for step in record_blocks(row(scores)[0], values_for(len(scores), seed), size):
        total = total * step.rescale + step.weights.sum()
        assert step.total == pytest.approx(total, rel=1e-12)


def test_bad_block_sizes_and_empty_recordings_are_refused():
    with pytest.raises(BadInput, match="block of 0"):
        online_softmax(row([1.0]), values_for(1), 0)
    with pytest.raises(BadInput, match="got 0"):
        record_blocks(row([])[0], values_for(0), 2)
