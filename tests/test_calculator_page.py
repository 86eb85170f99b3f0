"""The calculator's page answers any form: exact sizes, clamped values with a word, or a refusal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.calculator import CURVE_TOKENS, LIMITS, MAX_MODELS, calculate, complaints, options
from model.errors import BadInput
from model.facts.sizing import FACTS
from model.sizing import catalogue
from model.sizing.question import ENGINES, Question
from model.sizing.size import total_bytes

MODEL = "Llama 2 7B"


def asked(**form: Any) -> dict[str, Any]:
    return calculate(json.dumps({"models": [MODEL], **form}))


@pytest.mark.parametrize("name", options()["models"])
def test_every_model_offered_is_answered_with_the_total_of_its_layers(name: str):
    answer = asked(models=[name], tokens=5000)["answers"][0]
    alone = sum(layer["bytes"] for layer in answer["layers"])
    assert answer["cache_bytes"] >= alone > 0
    assert answer["cache_bytes"] == total_bytes(catalogue.load(name), Question(tokens=5000))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_page_and_the_command_give_one_number(engine: str):
    answer = asked(engine=engine, tokens=4096)["answers"][0]
    assert answer["cache_bytes"] == answer["views"][engine]


def test_an_engine_without_the_format_says_so_and_the_others_are_sized():
    answer = asked(k_format="kivi2", v_format="kivi2", tokens=4096)["answers"][0]
    assert set(answer["views"]) == {"ideal"}
    assert set(answer["not_in_engine"]) == set(ENGINES) - {"ideal"}
    assert all("kivi2" in why for why in answer["not_in_engine"].values())


def test_the_answers_listed_are_as_many_as_the_page_says():
    assert len(complaints()) == int(FACTS["public-wrong-answers"]())  # type: ignore[operator]


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_out_of_bounds_is_moved_and_said(name: str):
    low, high = LIMITS[name]
    found = asked(**{name: high * 10 + 1})
    assert any(f"{high:,}" in note for note in found["notes"])
    assert found["moved"][name] == high or name == "shared_prefix"
    if low > 0:
        assert any(f"{low:,} is shown" in note for note in asked(**{name: low - 5})["notes"])


def test_memory_without_a_unit_counts_gibibytes_as_the_field_says():
    fits = [asked(memory=written)["answers"][0]["fit"] for written in ("24", "24.0", "24 GiB")]
    assert fits[0] == fits[1] == fits[2]
    assert fits[0]["sequences"] > 0
    assert asked(memory="24 GB")["answers"][0]["fit"] != fits[0]


def test_the_curve_is_the_total_at_each_length():
    found = asked()
    model = catalogue.load(MODEL)
    expected = [total_bytes(model, Question(tokens=n)) for n in CURVE_TOKENS]
    assert found["curve"]["bytes"] == [expected]


def test_a_pasted_config_stands_first_and_agrees_with_the_catalogue():
    entry = catalogue.find(MODEL)
    found = asked(config=json.dumps(entry.config))
    sizes = [answer["cache_bytes"] for answer in found["answers"]]
    assert len(sizes) == 2
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    "form",
    [
        {"models": []},
        {"models": ["no such model at all"]},
        {"models": [MODEL] * (MAX_MODELS + 1)},
        {"models": "Llama"},
        {"tokens": "many"},
        {"tokens": "nan"},
        {"memory": "lots"},
        {"memory": ["24 GiB"]},
        {"memory": True},
        {"k_format": "int3"},
        {"engine": "steam"},
        {"config": "[1, 2"},
        {"config": "[" * 5000},
        {"config": '{"model_type": "llama", "num_hidden_layers": "32 of them"}'},
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(form: dict[str, Any]):
    with pytest.raises(BadInput) as refusal:
        asked(**form)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) > 10


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
fields = st.dictionaries(
    st.sampled_from([*LIMITS, "models", "memory", "config", "k_format"]), json_like
)


@given(form=fields | json_like)
def test_no_form_raises_anything_but_a_refusal(form: Any):
    try:
        found = calculate(json.dumps(form))
    except BadInput:
        return
    assert json.dumps(found)
