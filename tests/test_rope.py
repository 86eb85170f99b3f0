"""Rotary positions: scores know distances only, and the two layouts are one map."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.errors import BadInput
from model.rope import LAYOUTS, Layout, frequencies, halves, pairs, rotate, unrotate

LAYOUT = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
AT = st.integers(0, 2000)


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def at(x: Tensor, position: int, layout: Layout, base: float = 10_000.0) -> Tensor:
    return rotate(x, torch.tensor([position]), base, layout)


@LAYOUT
@given(q=AT, k=AT, shift=AT)
def test_a_score_depends_on_the_distance_only(layout: Layout, q: int, k: int, shift: int):
    query, key = normal(1, 1, 8, seed=1), normal(1, 1, 8, seed=2)
    score = (at(query, q, layout) * at(key, k, layout)).sum()
    moved = (at(query, q + shift, layout) * at(key, k + shift, layout)).sum()
    assert float((score - moved).abs()) <= 1e-10


@LAYOUT
@given(a=AT, b=AT)
def test_turns_add_up_and_undo_and_keep_lengths(layout: Layout, a: int, b: int):
    x = normal(2, 1, 8)
    turned = at(x, a, layout)
    assert torch.allclose(at(turned, b, layout), at(x, a + b, layout), rtol=0, atol=1e-10)
    assert torch.allclose(unrotate(turned, torch.tensor([a]), 1e4, layout), x, rtol=0, atol=1e-12)
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-12)
    assert torch.equal(at(x, 0, layout), x)


def test_the_layouts_are_the_same_map_of_reordered_channels():
    x, positions = normal(2, 5, 8), torch.arange(5)
    order = pairs(8)
    in_halves = rotate(x[..., order], positions, 1e4, halves)
    assert torch.equal(in_halves, rotate(x, positions, 1e4, pairs)[..., order])
    assert float((rotate(x, positions) - rotate(x, positions, 1e4, pairs)).abs().max()) > 0.5


def test_pairs_turn_as_complex_numbers_do():
    x, positions = normal(2, 5, 8), torch.arange(5)
    numbers = torch.view_as_complex(x.unflatten(-1, (4, 2)))
    angles = positions[:, None] * frequencies(8, 500_000.0)
    turned = torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles))
    ours = rotate(x, positions, 500_000.0, pairs)
    assert torch.allclose(ours, turned.flatten(-2), rtol=0, atol=1e-14)


def test_the_worked_example_scores_are_met():
    ones = torch.tensor([[[1.0, 0.0, 1.0, 0.0]]], dtype=torch.float64)
    for q, k in ((5, 2), (105, 102), (3, 0)):
        score = float((at(ones, q, pairs) * at(ones, k, pairs)).sum())
        assert score == pytest.approx(math.cos(3) + math.cos(0.03), abs=1e-12)
        assert score == pytest.approx(0.0095575, abs=1e-7)


def test_the_favourite_key_flips_when_the_query_is_placed_at_zero():
    """One pair, one radian a position: the newest key wins at place 3, the oldest at 0."""
    one = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    keys = rotate(one.expand(1, 3, 2), torch.arange(3), 1.0)
    right, wrong = ((at(one, place, halves, 1.0) @ keys.mT).flatten().tolist() for place in (3, 0))
    assert right == pytest.approx([-0.98999, -0.41615, 0.5403], abs=1e-5)
    assert wrong == pytest.approx([1, 0.5403, -0.41615], abs=1e-5)


@pytest.mark.parametrize(("base", "longest"), [(1e4, 54_410), (5e5, 2.56e6)])
def test_the_longest_wavelength_is_the_published_one(base: float, longest: float):
    assert 2 * math.pi / float(frequencies(128, base)[-1]) == pytest.approx(longest, rel=2e-3)


def test_rows_of_a_batch_have_places_of_their_own():
    x = normal(3, 2, 4, 8)
    places = torch.stack([torch.arange(4) + shift for shift in (0, 5, 9)])
    batch = rotate(x, places)
    for row in range(3):
        assert torch.equal(batch[row], rotate(x[row], places[row]))


def test_half_precision_rows_are_turned_by_exact_angles():
    x, positions = normal(1, 1, 64), torch.tensor([10_000])
    exact = rotate(x, positions)
    assert float((rotate(x.float(), positions) - exact).abs().max()) < 1e-6


def test_an_odd_width_is_refused():
    with pytest.raises(BadInput, match="7 is odd, use 8"):
        rotate(normal(1, 1, 7), torch.tensor([0]))
