"""Every line of arithmetic shown multiplies out to the bytes beside it, whatever was asked."""

import re
from fractions import Fraction
from typing import Any

import pytest

from model.errors import BadInput
from model.sizing import catalogue, formula
from model.sizing.question import ENGINES, Question
from model.sizing.size import Answer, size

ALL = [entry.name for entry in catalogue.entries()]
OF_EACH_TYPE = list({catalogue.model_of(name).model_type: name for name in ALL}.values())
ASKED: dict[str, dict[str, Any]] = {
    "one text": {"tokens": 5_000},
    "sequences on ranks": {"tokens": 1_000, "batch": 3, "tensor_parallel": 8},
    "a shared prefix": {"tokens": 5_000, "batch": 4, "shared_prefix": 2_001},
    "beams": {"tokens": 300, "batch": 2, "beams": 4},
    "blocks": {"tokens": 1_001, "block_size": 64, "batch": 2},
    "fp8": {"tokens": 777, "k_format": "fp8", "v_format": "fp8", "index_format": "fp8"},
    "a scale a head": {"tokens": 777, "k_format": "int8", "v_format": "int8", "batch": 2},
    "q8_0 and q4_0": {"tokens": 400, "k_format": "q8_0", "v_format": "q4_0"},
    "packed latents": {"tokens": 100, "k_format": "fp8_ds_mla", "index_format": "fp8_ds_mla"},
    "packed entries": {"tokens": 100_000, "k_format": "fp8_ds_v4", "index_format": "mxfp4"},
    "kivi": {"tokens": 1_000, "batch": 2, "k_format": "kivi2", "v_format": "kivi2"},
    "quanto": {"tokens": 1_000, "batch": 2, "k_format": "quanto4", "v_format": "quanto4"},
}
WORDS = re.compile(r"\[[^]]*\]|\([^()\d]*\)|[a-zA-Z'][a-zA-Z']*|\s")
"""Notes in brackets, names in parentheses, units."""


def worked_out(product: str) -> Fraction:
    """A sum of products as printed, multiplied out."""
    steps = re.findall(
        r"[\d.]+|[-+*()]", WORDS.sub("", product.replace(" x ", "*").replace(",", ""))
    )
    return Fraction(eval("".join(re.sub(r"^[\d.]+$", r"Fraction('\g<0>')", s) for s in steps)))  # noqa: S307 -- digits and signs alone


def answered(name: str, engine: str, asked: dict[str, Any]) -> Answer | None:
    """What the calculator says, or None for what it refuses."""
    try:
        return size(catalogue.load(name), Question(engine=engine, **asked))
    except BadInput:
        return None


PAIRS = [
    (engine, asked)
    for engine in ENGINES
    for asked, values in ASKED.items()
    if any(
        answered(name, engine, values)
        for name in ("Llama 3 8B", "DeepSeek-V3.2", "DeepSeek-V4-Flash")
    )
]
"""Engines with what they can be asked: a format they lack is refused for every model."""


@pytest.mark.parametrize(("engine", "asked"), PAIRS)
def test_every_line_multiplies_out(engine: str, asked: str):
    names = ALL if asked == "one text" else OF_EACH_TYPE
    found = [answer for name in names if (answer := answered(name, engine, ASKED[asked]))]
    assert found
    for answer in found:
        shown = formula.lines(answer)
        for line in shown:
            start = f"{line.n_layers} {line.kind} layer"
            text = line.text.removeprefix(start).removeprefix("s").removeprefix(" x ")
            if "keep nothing" in text:
                assert line.n_bytes == 0
                continue
            product, _, told = text.partition(" = ")
            alone = product.removeprefix(": ")
            assert worked_out(alone) * line.n_layers == line.n_bytes, (answer.model.name, line.text)
            assert told in ("", f"{line.n_bytes:,} B")
        assert sum(line.n_bytes for line in shown) + answer.padding_bytes == answer.cache_bytes
