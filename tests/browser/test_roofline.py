"""What the roofline says of a model on a chip is what the costs give, for the whole catalogue."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from figures.serving_costs import BATCHES, CONTEXTS, MODELS
from model.costs import bound, decode_step, prefill_step
from model.hardware import CHIPS
from model.work_of import work_of

pytestmark = pytest.mark.browser
LESSON = "/lesson/going-deeper"
CHIP, BATCH, CONTEXT = "h100", 3, 3


def numbers(said: str) -> list[float]:
    """FLOPs a byte, the ridge, milliseconds, and a prefill's FLOPs a byte."""
    found = re.search(
        r"does ([\d,.]+) FLOPs a byte, .* at ([\d,.]+): .*; ([\d,.]+) ms .* does ([\d,]+)\.", said
    )
    assert found, said
    return [float(one.replace(",", "")) for one in found.groups()]


def test_the_roofline_says_every_model_s_own_numbers(read: Callable[..., Any]):
    page = read().open(LESSON)
    wanted = [
        {"chip": CHIP, "model": i, "batch": BATCH, "context": CONTEXT} for i in range(len(MODELS))
    ]
    for name, seen in zip(MODELS, page.evaluate("probe.sweep", ["roofline", wanted]), strict=True):
        work, chip = work_of(name), CHIPS[CHIP]
        step = decode_step(work, BATCHES[BATCH], CONTEXTS[CONTEXT])
        prefill = prefill_step(work, CONTEXTS[CONTEXT])
        intensity, ridge, ms, filled = numbers(seen["said"])
        assert seen["said"].startswith(f"{name} on {chip.name}")
        assert intensity == pytest.approx(step.intensity, abs=0.0501)
        assert ridge == round(chip.ridge())
        assert ms == pytest.approx(1e3 * bound(step, chip).seconds, abs=0.00501)
        assert filled == pytest.approx(prefill.intensity, abs=0.501)
