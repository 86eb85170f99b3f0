"""Laws every answer keeps, for every model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadInput
from model.sizing import alternatives, catalogue, formula
from model.sizing.fit import fit
from model.sizing.question import Question
from model.sizing.report import as_dict
from model.sizing.size import size, total_bytes

NAMES = list({catalogue.model_of(e.name).model_type: e.name for e in catalogue.entries()}.values())
"""One model of each type in the catalogue."""
ANY = st.sampled_from(NAMES)
TOKENS = st.integers(0, 300_000)


@given(name=ANY, tokens=TOKENS, more=st.integers(0, 5_000))
def test_a_longer_text_never_takes_less(name: str, tokens: int, more: int):
    model = catalogue.load(name)
    assert total_bytes(model, Question(tokens=tokens + more)) >= total_bytes(
        model, Question(tokens=tokens)
    )


@given(name=ANY, tokens=TOKENS, batch=st.integers(1, 64))
def test_sequences_add_up(name: str, tokens: int, batch: int):
    model = catalogue.load(name)
    one = total_bytes(model, Question(tokens=tokens))
    assert total_bytes(model, Question(tokens=tokens, batch=batch)) == batch * one


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_the_total(name: str):
    model = catalogue.load(name)
    answer = size(model, Question(tokens=0))
    assert answer.cache_bytes == answer.fixed_bytes
    span = 128 * 1_024  # a multiple of every entry's tokens
    far = 2**30 // 8
    low, high = (total_bytes(model, Question(tokens=t)) for t in (far, far + span))
    windows = [layer.window for layer in model.layers if layer.window is not None]
    if all(w < far for w in windows):
        assert (high - low) / span == answer.bytes_per_token_marginal
    assert answer.bytes_per_token_first >= answer.bytes_per_token_marginal


@pytest.mark.parametrize("name", NAMES)
def test_the_arithmetic_shown_adds_up_to_the_total(name: str):
    answer = size(catalogue.load(name), Question(tokens=5_000, batch=3))
    lines = formula.lines(answer)
    assert sum(line.n_bytes for line in lines) == answer.cache_bytes
    assert sorted(i for line in lines for i in line.indices) == list(range(len(answer.layers)))
    assert f"{answer.cache_bytes:,}" in formula.total_line(answer)


@pytest.mark.parametrize("name", NAMES)
def test_an_owner_owns(name: str):
    layers = catalogue.load(name).layers
    for layer in layers:
        assert 0 <= layer.owner < len(layers)
        assert layer.owner <= layer.index
        if layer.owner != layer.index:
            assert layers[layer.owner].holds


def test_a_chunk_counts_as_a_window_and_says_so():
    """Llama 4 Scout, 10,000 tokens: 36 layers of 8,192, 12 of all, 8 heads of 128, twice."""
    answer = size(catalogue.load("Llama 4 Scout"), Question(tokens=10_000))
    assert answer.cache_bytes == 4_096 * (36 * 8_192 + 12 * 10_000)
    assert any("8,192" in w and "1,808" in w for w in answer.warnings)
    for tokens in (8_000, 16_384):
        assert not size(catalogue.load("Llama 4 Scout"), Question(tokens=tokens)).warnings


def test_a_plain_stack_is_the_naive_formula():
    model = catalogue.load("llama-2-7b")
    naive = alternatives.naive(model)
    assert naive is not None
    question = Question(tokens=321)
    assert total_bytes(naive, question) == total_bytes(model, question)


@pytest.mark.parametrize("change", alternatives.ALTERNATIVES)
@given(name=ANY)
def test_undoing_a_saving_never_saves(change: str, name: str):
    model, question = catalogue.load(name), Question(tokens=20_000)
    changed = alternatives.ALTERNATIVES[change](model)
    assert total_bytes(changed, question) >= total_bytes(model, question)


def test_savings_are_the_published_ones():
    def ratio(name: str, change: str, tokens: int) -> float:
        model, question = catalogue.load(name), Question(tokens=tokens)
        changed = alternatives.ALTERNATIVES[change](model)
        return total_bytes(changed, question) / total_bytes(model, question)

    assert ratio("llama-2-70b", "without grouping", 100) == 8
    assert ratio("mistral-7b-v0.1", "without windows", 32_768) == 8
    assert round(ratio("deepseek-v2", "without latents", 100), 1) == 71.1


def test_sinks_are_kept_beside_the_window():
    model = alternatives.windowed_with_sinks(catalogue.load("llama-2-7b"), 1_020, 4)
    assert total_bytes(model, Question(tokens=10**6)) == 524_288 * 1_024


@given(name=ANY, gib=st.integers(1, 2_000), tokens=st.integers(1, 100_000))
def test_what_fits_is_the_most_that_fits(name: str, gib: int, tokens: int):
    model = catalogue.load(name)
    question = Question(tokens=tokens)
    room = fit(model, question, gib * 2**30)
    n = room.sequences
    assert n == 0 or total_bytes(model, Question(tokens=tokens, batch=n)) <= room.free_bytes
    if n < 10**6:
        assert total_bytes(model, Question(tokens=tokens, batch=n + 1)) > room.free_bytes
    if room.tokens is not None and room.tokens > 0:
        assert total_bytes(model, Question(tokens=room.tokens)) <= room.free_bytes
        assert total_bytes(model, Question(tokens=room.tokens + 1)) > room.free_bytes


def test_weights_come_off_the_memory_first():
    model = catalogue.load("llama-2-7b")
    room = fit(model, Question(tokens=4_096), 24 * 2**30)
    assert room.free_bytes == 24 * 2**30 - 2 * 6_738_415_616
    assert room.sequences == room.free_bytes // 2**31 == 5


@pytest.mark.parametrize(
    "asked",
    [
        {"tokens": -1},
        {"tokens": 10**10},
        {"tokens": 1, "batch": 0},
        {"tokens": 1, "tensor_parallel": 0},
        {"tokens": 1, "block_size": 0},
        {"tokens": 1, "shared_prefix": 2},
        {"tokens": 1, "encoder_tokens": -5},
        {"tokens": 1, "engine": "mine"},
        {"tokens": 1, "beams": 10**6},
    ],
)
def test_questions_out_of_bounds_are_refused(asked: dict[str, int]):
    with pytest.raises(BadInput):
        Question(**asked)  # type: ignore[arg-type]


def test_weights_of_a_tied_model_are_counted_once():
    assert catalogue.load("SmolLM2-135M").parameters == 134_515_008


def test_a_report_says_everything_asked_for():
    found = as_dict(size(catalogue.load("gemma-3-4b"), Question(tokens=4_096)))
    assert {
        "model", "tokens", "batch", "bytes_per_token_first", "bytes_per_token_marginal",
        "fixed_bytes", "cache_bytes", "weight_bytes", "parameters", "layers", "assumed", "warnings",
    } <= set(found)  # fmt: skip
    keys = {"index", "kind", "owner", "numbers_per_token", "window", "bytes"}
    assert all(keys <= set(layer) for layer in found["layers"])
    assert sum(layer["bytes"] for layer in found["layers"]) == found["cache_bytes"]
