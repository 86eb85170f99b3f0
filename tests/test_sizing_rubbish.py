"""Whatever is pasted, the calculator answers or refuses in one line: nothing else escapes."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadInput
from model.sizing import catalogue
from model.sizing.families.table import FAMILIES
from model.sizing.pasted import parse_object
from model.sizing.question import ENGINES, Question
from model.sizing.read_config import read_config
from model.sizing.report import as_dict
from model.sizing.size import size
from tests.oracles import tiny

ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
REAL = [{"model_type": t, **raw} for t, raw in tiny.DECODERS.values()]
REAL += [{"model_type": t, **raw} for t, raw in tiny.ENCODER_DECODERS.values()]
REAL += [dict(entry.config) for entry in catalogue.entries()]
KEYS = sorted({key for config in REAL for key in config})
SMALL = st.none() | st.booleans() | st.integers(-3, 9) | st.lists(st.integers(-1, 9), max_size=5)


def in_one_line(refusal: BadInput) -> None:
    assert str(refusal)
    assert "\n" not in str(refusal)


def answer_or_refuse(config: dict[str, Any], engine: str = "ideal") -> None:
    try:
        model = read_config(config)
        found = as_dict(size(model, Question(tokens=9, engine=engine)))
    except BadInput as refusal:
        in_one_line(refusal)
        return
    assert json.loads(json.dumps(found)) == found
    assert found["cache_bytes"] >= 0


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(KEYS), ANY_VALUE, max_size=12))
def test_arbitrary_objects_are_answered_or_refused(config: dict[str, Any]):
    answer_or_refuse(config)


@given(
    st.sampled_from(sorted(FAMILIES)),
    st.dictionaries(st.sampled_from(KEYS), SMALL, max_size=14),
)
def test_every_family_answers_or_refuses(model_type: str, values: dict[str, Any]):
    answer_or_refuse({"model_type": model_type, **values})


@given(
    st.sampled_from(REAL),
    st.dictionaries(st.sampled_from(KEYS), ANY_VALUE | SMALL, max_size=3),
    st.sets(st.sampled_from(KEYS), max_size=3),
    st.sampled_from(sorted(ENGINES)),
)
def test_damaged_configs_are_answered_or_refused(
    config: dict[str, Any], changed: dict[str, Any], lost: set[str], engine: str
):
    damaged = {k: v for k, v in {**config, **changed}.items() if k not in lost}
    answer_or_refuse(damaged, engine)
    answer_or_refuse({"model_type": "llava", "text_config": damaged}, engine)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_arbitrary_text_is_parsed_or_refused(text: str | bytes):
    try:
        assert isinstance(parse_object(text), dict)
    except BadInput as refusal:
        in_one_line(refusal)
