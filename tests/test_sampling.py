"""Sampling keeps the right sets, always at least one token, and draws from the law it prints."""

import math
import re
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadInput
from model.sampling import (
    ORDER,
    TEMPERATURE_LAST,
    Sampling,
    draw,
    entropy,
    greedy,
    inverse_cdf,
)

WORKED = torch.tensor([2.0, 1.0, 1.0, 0.5, -1.0])
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)

FINITE = st.floats(-50, 50, allow_nan=False, width=16)
TIED = st.sampled_from([-3.0, 0.0, 0.0, 1.0, 2.0])
LOGITS = st.lists(st.one_of(FINITE, TIED, st.just(-math.inf)), min_size=1, max_size=12).filter(
    lambda row: max(row) > -math.inf
)
TEMPERATURES = st.one_of(
    st.sampled_from([0.0, 5e-324, 1e-320, 1e-4, 0.5, 1.0, 2.0, 1e30, 1e308]), st.floats(0, 1e30)
)
FRACTIONS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))
SETTINGS = st.fixed_dictionaries(
    {
        "temperature": TEMPERATURES,
        "top_k": st.one_of(st.none(), st.integers(1, 40)),
        "top_p": FRACTIONS,
        "min_p": FRACTIONS,
        "order": st.permutations(ORDER).map(tuple),
    }
)


def kept(**settings: Any) -> set[int]:
    return ids(Sampling(**settings), WORKED)


def ids(sampling: Sampling, logits: torch.Tensor) -> set[int]:
    return set(sampling.stages(logits)[-1].kept.nonzero()[:, 0].tolist())


def row(values: list[float], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


@given(LOGITS, SETTINGS, st.sampled_from(DTYPES))
def test_no_setting_leaves_an_empty_set_or_a_nan(
    values: list[float], settings: dict[str, Any], dtype: torch.dtype
):
    sampling = Sampling(**settings)
    logits = row(values, dtype)
    for stage in sampling.stages(logits):
        assert stage.probabilities.dtype == torch.float64
        assert torch.isfinite(stage.probabilities).all()
        assert stage.probabilities.sum().item() == pytest.approx(1, abs=1e-12)
        assert stage.kept[greedy(logits)]
        assert not stage.probabilities[~stage.kept].any()
        assert not stage.kept[logits == -math.inf].any()


@given(LOGITS, SETTINGS)
def test_each_stage_keeps_a_subset_of_the_one_before(values: list[float], settings: dict[str, Any]):
    sampling = Sampling(**settings)
    stages = sampling.stages(row(values))
    assert [stage.name for stage in stages] == list(sampling.order)
    for before, after in pairwise(stages):
        assert not (after.kept & ~before.kept).any()


@given(LOGITS, SETTINGS)
def test_a_batch_row_is_sampled_as_if_it_were_alone(values: list[float], settings: dict[str, Any]):
    sampling = Sampling(**settings)
    batch = torch.stack([row(values), row(values).flip(0), row(values)])
    laws = sampling.law(batch[None])[0]
    for alone, together in zip(batch, laws, strict=True):
        torch.testing.assert_close(sampling.law(alone), together, rtol=0, atol=1e-15)


@given(LOGITS)
def test_the_defaults_change_nothing(values: list[float]):
    logits = row(values)
    torch.testing.assert_close(Sampling().law(logits), logits.softmax(-1), rtol=0, atol=1e-15)
    huge = Sampling(top_k=10**9, top_p=1.0, min_p=0.0)
    assert ids(huge, logits) == ids(Sampling(), logits)


@given(LOGITS, st.integers(1, 14), st.floats(1e-3, 1e30))
def test_top_k_keeps_exactly_k_whatever_the_temperature(
    values: list[float], k: int, temperature: float
):
    logits = row(values)
    possible = int((logits > -math.inf).sum())
    sampling = Sampling(top_k=k, temperature=temperature)
    assert len(ids(sampling, logits)) == min(k, possible)
    assert ids(sampling, logits) == ids(Sampling(top_k=k), logits)


@given(LOGITS, st.floats(0.001, 0.999))
def test_top_p_keeps_the_smallest_set_with_the_mass(values: list[float], p: float):
    logits = row(values)
    stage = {s.name: s for s in Sampling(top_p=p).stages(logits)}["top-p"]
    masses = logits.softmax(-1)[stage.kept].sort().values
    rounding = 1e-12
    assert masses.sum() >= p - rounding
    assert masses.sum() - masses[0] < p + rounding


@given(LOGITS, st.floats(0, 1))
def test_min_p_keeps_what_is_likely_enough_beside_the_likeliest(
    values: list[float], fraction: float
):
    law = row(values).softmax(-1)
    expected = (law >= fraction * law.max()) & (row(values) > -math.inf)
    assert ids(Sampling(min_p=fraction), row(values)) == set(expected.nonzero()[:, 0].tolist())


@pytest.mark.parametrize(("p", "size"), [(0.1, 1), (0.5, 5), (0.8, 8), (0.81, 9), (1.0, 10)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_probabilities_fill_top_p_by_the_tie_rule(p: float, size: int, dtype: torch.dtype):
    assert ids(Sampling(top_p=p), torch.zeros(10, dtype=dtype)) == set(range(size))


def test_top_p_at_its_ends_keeps_one_token_and_all():
    assert kept(top_p=0.0) == {0}
    assert kept(top_p=1.0) == {0, 1, 2, 3, 4}
    long_tail = torch.linspace(0, -60, 5000)  # its running sum reaches 1.0 long before the end
    assert len(ids(Sampling(top_p=1.0), long_tail)) == 5000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"top_k": 2}, {0, 1}),
        ({"top_p": 0.5}, {0, 1}),
        ({"top_p": 0.7}, {0, 1, 2}),
        ({"top_p": 0.9}, {0, 1, 2, 3}),
        ({"top_p": 0.99}, {0, 1, 2, 3, 4}),
        ({"min_p": 0.1}, {0, 1, 2, 3}),
        ({"min_p": 0.2}, {0, 1, 2, 3}),
        ({"min_p": 0.3}, {0, 1, 2}),
        ({"min_p": 0.4}, {0}),
        ({"top_k": 2, "top_p": 0.7}, {0}),
        ({"temperature": 2.0, "top_p": 0.8}, {0, 1, 2, 3}),
        ({"temperature": 2.0, "min_p": 0.3}, {0, 1, 2, 3}),
    ],
)
def test_worked_sets_come_out(settings: dict[str, Any], expected: set[int]):
    assert kept(**settings) == expected


def test_the_order_changes_the_set():
    assert ids(Sampling(top_k=2, top_p=0.7), WORKED) == {0}
    swapped = Sampling(top_k=2, top_p=0.7, order=("temperature", "top-p", "top-k", "min-p"))
    assert ids(swapped, WORKED) == {0, 1}
    logits = torch.tensor([3.0, 2.0, 1.0])
    assert ids(Sampling(temperature=0.5, top_p=0.8), logits) == {0}
    last = Sampling(temperature=0.5, top_p=0.8, order=TEMPERATURE_LAST)
    assert ids(last, logits) == {0, 1}


def test_nucleus_counts_the_mass_before_a_token():
    assert ids(Sampling(top_p=0.9), torch.tensor([0.5, 0.3, 0.15, 0.05]).log()) == {0, 1, 2}
    assert ids(Sampling(top_p=0.8), torch.tensor([0.3, 0.1, 0.1, 0.5]).log()) == {3, 0}


def test_temperature_raises_entropy_by_the_worked_amounts():
    entropies = [entropy(Sampling(temperature=t).law(WORKED)).item() for t in (0.5, 1.0, 2.0)]
    assert entropies == pytest.approx([0.8132, 1.3047, 1.5131], abs=5e-5)


@given(LOGITS, st.integers(0, 2**31))
def test_temperature_zero_is_argmax_and_uses_no_randomness(values: list[float], seed: int):
    generator = torch.Generator().manual_seed(seed)
    before = generator.get_state()
    chosen = Sampling(temperature=0.0).choose(row(values), generator)
    assert int(chosen) == values.index(max(values))
    assert torch.equal(before, generator.get_state())
    assert ids(Sampling(temperature=0.0), row(values)) == {int(chosen)}


@pytest.mark.parametrize("temperature", [1e-320, 1e-4])
def test_a_tiny_temperature_overflows_nowhere(temperature: float):
    half = torch.tensor([2.875, 2.955, 11.0625], dtype=torch.float16)
    assert Sampling(temperature=temperature).law(half).tolist() == [0, 0, 1]
    tied = Sampling(temperature=temperature).law(torch.tensor([2.0, 2.0, 1.0]))
    assert tied.tolist() == [0.5, 0.5, 0.0]


@given(LOGITS, SETTINGS, st.integers(0, 2**31))
def test_the_same_seed_chooses_the_same_token_and_only_a_kept_one(
    values: list[float], settings: dict[str, Any], seed: int
):
    sampling = Sampling(**settings)
    logits = row(values).expand(3, -1)
    first, again = (sampling.choose(logits, torch.Generator().manual_seed(seed)) for _ in range(2))
    assert torch.equal(first, again)
    law = sampling.law(logits)
    assert (law.gather(-1, first[:, None]) > 0).all() or sampling.temperature == 0


@given(LOGITS, st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=5))
def test_the_inverse_cdf_never_draws_an_impossible_token(
    values: list[float], uniforms: list[float]
):
    law = row(values).softmax(-1)
    corners = torch.tensor([0.0, 1 - 2**-53, *uniforms], dtype=torch.float64)
    drawn = inverse_cdf(law.expand(len(corners), -1), corners)
    assert (law[drawn] > 0).all()


def test_frequencies_follow_the_law():
    law, n = Sampling(top_k=4).law(WORKED), 20_000
    drawn = draw(law.expand(n, -1), torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=5) / n
    assert ((shares - law).abs() <= 4 * (law * (1 - law) / n).sqrt()).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": 0},
        {"top_p": 1.5},
        {"top_p": math.nan},
        {"min_p": -0.1},
        {"order": ("temperature", "top-k", "top-p")},
    ],
)
def test_impossible_settings_are_refused_with_the_number(settings: dict[str, Any]):
    with pytest.raises(BadInput, match=re.escape(str(next(iter(settings.values()))))):
        Sampling(**settings)


@pytest.mark.parametrize("logits", [[math.nan, 0.0], [math.inf, 0.0], [-math.inf, -math.inf]])
def test_logits_that_are_no_distribution_are_refused(logits: list[float]):
    with pytest.raises(ValueError, match=r"NaN|none of its 2 tokens"):
        Sampling().law(torch.tensor(logits))
