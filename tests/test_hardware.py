"""Published and measured rates bound how long a step must take."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.costs import (
    Formats,
    bound,
    decode_step,
    equal_traffic_batch,
    linear_intensity,
    prefill_step,
    sequences_that_fit,
    throughput_limit,
)
from model.hardware import CHIPS, Chip
from model.measure import CancelledError, Plan, measure
from model.work import (
    ModelWork,
)
from model.work_of import work_of

H100 = CHIPS["h100"]
LLAMA_3_8B = work_of("Llama 3 8B")


@given(st.integers(1, 200), st.integers(1, 5000))
def test_a_step_takes_longer_with_more_of_anything(batch: int, context: int):
    step = bound(decode_step(LLAMA_3_8B, batch, context), H100)
    wider = bound(decode_step(LLAMA_3_8B, batch + 1, context), H100)
    longer = bound(decode_step(LLAMA_3_8B, batch, context + 1), H100)
    assert step.seconds < wider.seconds
    assert step.seconds < longer.seconds
    smaller = decode_step(LLAMA_3_8B, batch, context, Formats(cache_bytes=1.0))
    assert smaller.cache_bytes * 2 == decode_step(LLAMA_3_8B, batch, context).cache_bytes


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS.keys())
def test_both_limits_meet_at_the_ridge(chip: Chip):
    ridge = chip.ridge()
    assert chip.attainable(ridge) == pytest.approx(chip.peak("bfloat16"))
    assert chip.attainable(ridge / 2) == pytest.approx(chip.peak("bfloat16") / 2)
    assert chip.attainable(ridge * 2) == chip.peak("bfloat16")
    assert chip.source


@pytest.mark.parametrize(
    ("chip", "ridge"),
    [("a100", 153), ("h100", 295), ("h200", 206), ("b200", 281), ("mi300x", 247),
     ("rtx4090", 164), ("tpu-v5e", 240), ("m4-max", 31)],
)  # fmt: skip
def test_ridges_are_those_of_the_data_sheets(chip: str, ridge: int):
    assert round(CHIPS[chip].ridge()) == ridge


def test_peaks_follow_from_clock_and_units():
    assert H100.peak("bfloat16") == pytest.approx(1830e6 * 512 * 2 * 528, rel=1e-3)
    assert CHIPS["a100"].peak("bfloat16") == pytest.approx(1410e6 * 256 * 2 * 432, rel=1e-3)
    assert CHIPS["mi300x"].peak("bfloat16") == pytest.approx(2100e6 * 256 * 2 * 1216, rel=1e-3)


def as_published() -> ModelWork:
    """Llama 3 8B as the worked numbers count it: the input table is read like a matrix."""
    return ModelWork(name="", layers=LLAMA_3_8B.layers, head=LLAMA_3_8B.head + LLAMA_3_8B.table)


@pytest.mark.parametrize(
    ("batch", "context", "ms"),
    [(1, 1, 4.79), (1, 8192, 5.11), (32, 8192, 15.05), (64, 8192, 25.3), (256, 2048, 25.3)],
)
def test_worked_step_times_are_reproduced(batch: int, context: int, ms: float):
    step = bound(decode_step(as_published(), batch, context), H100)
    assert step.seconds * 1e3 == pytest.approx(ms, rel=2e-3)
    assert step.limited_by == "memory"


def test_worked_limits_are_reproduced():
    work = as_published()
    assert bound(decode_step(work, 32, 8192), H100).compute_s * 1e3 == pytest.approx(0.66, abs=5e-3)
    assert throughput_limit(work, 8192, H100) == pytest.approx(3120, rel=1e-3)
    assert round(equal_traffic_batch(work, 8192)) == 15
    assert sequences_that_fit(work, 8192, H100.nbytes or 0) == 59
    assert decode_step(work, 1, 1).intensity == pytest.approx(1, rel=1e-3)
    prefill = bound(prefill_step(work, 2048), H100)
    assert prefill.limited_by == "arithmetic"


def test_a_looked_up_table_is_not_read():
    assert LLAMA_3_8B.weights_kept - LLAMA_3_8B.weights_read(1) == 128_256 * 4096
    assert work_of("SmolLM2-135M").table == 0


def test_decode_is_a_tenth_of_the_flops_and_thirty_times_the_time():
    work = work_of("Llama 2 7B")
    prefill, steps = prefill_step(work, 2048), [decode_step(work, 1, 2048 + i) for i in range(199)]
    blocks = sum(layer.prefill_flops(2048) for layer in work.layers)
    decoded = sum(step.flops - 2 * work.head for step in steps)
    assert blocks / decoded == pytest.approx(9.9, abs=0.05)
    seconds = sum(bound(step, H100).seconds for step in steps)
    assert seconds / bound(prefill, H100).seconds == pytest.approx(30, abs=1.5)


def test_intensity_of_a_matrix_is_the_number_of_tokens_until_activations_weigh_in():
    assert linear_intensity(1, 4096, 4096) == pytest.approx(1, rel=1e-3)
    assert linear_intensity(64, 4096, 4096, activation_bytes=0.0) == 64
    assert linear_intensity(64, 4096, 4096) < 64


def test_measuring_reports_progress_and_finds_positive_rates():
    heard: list[float] = []
    plan = Plan(nbytes=2**20, seconds_each=0.0, matrix=16)
    found = measure(plan, lambda share, _: heard.append(share) or True)
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert found.flops_per_s.keys() == {"float32", "bfloat16"}
    assert all(math.isfinite(rate) and rate > 0 for rate in found.flops_per_s.values())
    assert found.chip.ridge("float32") > 0


@pytest.mark.parametrize("after", [0, 1, 3])
def test_measuring_stops_when_told_to(after: int):
    calls = iter(range(100))
    with pytest.raises(CancelledError):
        measure(Plan(nbytes=2**20, seconds_each=0.0, matrix=16), lambda *_: next(calls) < after)
