"""Scores of turned queries and keys, and products of position codes, see distances alone."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.positions import code_products, record_shift, rotary_scores
from model.rope import LAYOUTS, rotate
from model.toy.config import ToyConfig
from model.toy.network import sinusoids


def vectors(seed: int, d_head: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, d_head, dtype=torch.float64, generator=generator)
    return q, k


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@given(st.integers(0, 99), st.integers(0, 100_000))
def test_moving_every_place_changes_no_score(layout: object, seed: int, shift: int):
    q, k = vectors(seed)
    record = record_shift(q, k, n_places=6, shift=shift, layout=layout)  # type: ignore[arg-type]
    assert record.largest_change < 1e-9
    assert np.ptp(record.scores, axis=None) > 1e-3, "otherwise nothing is compared"


def test_turning_in_one_layout_by_the_frequencies_of_the_other_is_seen_by_a_shift():
    q, k = vectors(1)
    halves, pairs = LAYOUTS["halves"], LAYOUTS["pairs"]
    places = torch.arange(6)

    def mixed(at: torch.Tensor) -> torch.Tensor:
        keys = rotate(k.expand(1, 6, -1), at, layout=pairs)[0]
        queries = rotate(q.expand(1, 6, -1), at, layout=halves)[0]
        return queries @ keys.mT

    assert (mixed(places) - mixed(places + 7)).abs().max() > 0.1


def test_worked_rotary_scores_are_reproduced():
    unit = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64)  # pairs (1,0), (1,0)
    for query, key in ((5, 2), (105, 102), (3, 0)):
        score = rotary_scores(unit, unit, torch.tensor([query, key]))[0, 1]
        assert score.item() == pytest.approx(math.cos(3) + math.cos(0.03), abs=1e-12)
    assert math.cos(3) + math.cos(0.03) == pytest.approx(0.0095575, abs=1e-7)


def test_products_of_position_codes_depend_on_the_distance():
    codes = sinusoids(ToyConfig(), 60)
    products = code_products(codes)
    for distance in (0, 1, 7, 30):
        diagonal = np.diagonal(products, offset=distance)
        assert np.ptp(diagonal) < 1e-12
    with pytest.raises(ValueError, match="read-only"):
        products[0, 0] = 1.0
