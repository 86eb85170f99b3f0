"""The numbers sent for the roofline give every pass of every model in the catalogue."""

import pytest

from figures.batching import Batching
from figures.measured_growth import BOUND, MODEL, curve, least_ms, measured
from figures.serving_costs import BATCHES, CONTEXTS, MODELS, on, table
from model.costs import bound, decode_step, prefill_step, sequences_that_fit
from model.hardware import CHIPS
from model.sizing.catalogue import entries, find
from model.work_of import work_of

every_model = pytest.mark.parametrize("index", range(len(MODELS)), ids=MODELS)


def test_every_model_of_the_catalogue_is_offered_once():
    assert sorted(find(name).name for name in MODELS) == sorted(e.name for e in entries())
    assert len(table()["passes"]) == len(MODELS) == len(entries())


@every_model
def test_steps_put_together_are_those_of_the_costs(index: int):
    work, sent = work_of(MODELS[index]), table()["passes"][index]
    for b, batch in enumerate(BATCHES):
        n = b % len(CONTEXTS)
        step = decode_step(work, batch, CONTEXTS[n])
        assert batch * sent["flops"][n] == step.flops
        moved = sent["weights"][b] + batch * sent["cache"][n]
        assert moved == pytest.approx(step.nbytes, rel=1e-6)
    for n, context in enumerate(CONTEXTS):
        step = prefill_step(work, context)
        assert (sent["prefill_flops"][n], sent["prefill_bytes"][n]) == (
            step.flops,
            pytest.approx(step.nbytes, rel=1e-6),
        )


@pytest.mark.parametrize("key", CHIPS)
def test_a_chip_s_rates_are_those_that_bound_a_step(key: str):
    chip, step = CHIPS[key], decode_step(work_of("Llama 3 8B"), 64, 8_192)
    sent = on(chip)
    seconds = max(step.nbytes / sent["bytes_per_s"], step.flops / sent["flops_per_s"])
    assert seconds == bound(step, chip, sent["format"]).seconds


@every_model
def test_memory_is_filled_with_what_was_sent_as_the_costs_say(index: int):
    """Weights of all, and a cache for each: what is left divided by a sequence's bytes."""
    kept, work = Batching.data()["kept"][index], work_of(MODELS[index])
    for chip in CHIPS.values():
        for n, context in enumerate(CONTEXTS):
            room = on(chip)["nbytes"] - kept["weights"]
            most = sequences_that_fit(work, context, chip.nbytes or 0.0)
            assert max(room // kept["cache"][n], 0) == most


def test_the_bound_drawn_beside_the_measured_steps_is_the_one_they_were_measured_with():
    """The sweep wrote each step's share of the bandwidth: the bound is that share of its time."""
    assert measured()["model"].startswith(MODEL)
    for row in measured()["rows"]:
        assert row["dtype"] == "float32"
        least = least_ms(row["batch"], row["context"])
        share = row["share_of_bandwidth"] * row["decode_ms_per_token"]
        assert least == pytest.approx(share, rel=0.02)  # a burst of steps grows by a few rows
        assert least < row["decode_ms_per_token"]
        drawn = curve(row["batch"], BOUND)
        assert dict(zip(drawn["x"], drawn["y"], strict=True))[row["context"]] == least
