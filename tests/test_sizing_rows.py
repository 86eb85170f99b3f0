"""The calculator gives every known row and every corrected public answer, to the byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from model.sizing import catalogue
from model.sizing.complaints import COMPLAINTS, wrong
from model.sizing.layers import Model
from model.sizing.question import Question
from model.sizing.size import Answer, size

DATA = Path(__file__).parent / "data"
ROWS = {row["name"]: row for row in json.loads((DATA / "cache_rows.json").read_text())}
ANSWERS = {a["id"]: a for a in json.loads((DATA / "public_wrong_answers.json").read_text())}
PUBLISHED_ONLY = {"GPT-3 175B", "PaLM 540B"}
"""Their code is not public: the paper's round count is given, and said to be that."""


def answered(model: Model, tokens: int, row: dict[str, Any]) -> Answer:
    return size(model, Question(tokens=tokens, encoder_tokens=row["encoder_len"]))


def closed_form(row: dict[str, Any], tokens: int) -> int:
    """The row's own groups of layers in bf16: n layers of so many numbers, up to a window.

    A group with a fraction of a number a token stands for entries of several tokens, which
    exist once their tokens do.
    """
    growing = 0
    for group in row["kv_groups"]:
        kept = tokens if group["window"] is None else min(tokens, group["window"])
        growing += group["n"] * group["elems"] * kept * 2
    return int(growing) + row["fixed_state_bytes"] + row["cross_kv_bytes"]


def edges(row: dict[str, Any]) -> list[int]:
    """1, the places around each window, 4,096 and the longest context."""
    windows = {g["window"] for g in row["kv_groups"] if g["window"]}
    around = {w + d for w in windows for d in (-1, 0, 1)}
    return sorted({1, 4_096, row["max_context"], *around} - {0})


def test_catalogue_has_every_row():
    assert set(ROWS) <= {entry.name for entry in catalogue.entries()}
    assert len(catalogue.entries()) >= 90


@pytest.mark.parametrize("name", ROWS)
def test_row_is_exact(name: str):
    row, model = ROWS[name], catalogue.load(name)
    small = answered(model, row["T_small"], row)
    assert small.cache_bytes == row["total_cache_at_small"]
    assert answered(model, row["max_context"], row).cache_bytes == row["total_cache_at_max"]
    assert small.bytes_per_token_first == row["bytes_per_token_first"]
    assert small.bytes_per_token_marginal == row["bytes_per_token_marginal"]
    assert small.fixed_bytes == row["fixed_state_bytes"] + row["cross_kv_bytes"]
    assert model.max_tokens == row["max_context"]


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row["num_parameters"]])
def test_weights_are_exact(name: str):
    assert catalogue.load(name).parameters == ROWS[name]["num_parameters"]


def test_weights_that_are_only_published_say_so():
    for name in PUBLISHED_ONLY:
        assert any("as published" in w for w in catalogue.load(name).warnings), name


@pytest.mark.parametrize("name", [n for n in ROWS if n != "DeepSeek-V4-Flash"])
def test_row_follows_its_closed_form_at_every_edge(name: str):
    row, model = ROWS[name], catalogue.load(name)
    for tokens in edges(row):
        assert answered(model, tokens, row).cache_bytes == closed_form(row, tokens), tokens


def test_compressed_entries_exist_once_their_tokens_do():
    row, model = ROWS["DeepSeek-V4-Flash"], catalogue.load("DeepSeek-V4-Flash")
    for tokens in (1, 3, 4, 127, 128, 129, 4_096, 4_097):
        window, quarter, eighth = min(tokens, 128), tokens // 4, tokens // 128
        numbers = 43 * 512 * window + 21 * (512 + 128) * quarter + 20 * 512 * eighth
        assert answered(model, tokens, row).cache_bytes == 2 * numbers, tokens


def test_every_corrected_public_answer_is_there():
    assert {c.key for c in COMPLAINTS} == set(ANSWERS)


@pytest.mark.parametrize("complaint", COMPLAINTS, ids=lambda c: c.key)
def test_public_wrong_answer_is_answered_right(complaint: Any):
    assert complaint.right() == ANSWERS[complaint.key]["right"]


def test_890_bytes_are_added_up():
    model = catalogue.load("DeepSeek-V4.1-Flash")
    answer = size(model, Question(tokens=1_048_576))
    windows = 40 * 128 * 528
    assert answer.bytes_per_token_marginal == 890
    assert answer.cache_bytes == 890 * 1_048_576 + windows
    plain = Question(tokens=2, k_format="bf16", index_format="bf16")
    assert size(model, plain).bytes_per_token_marginal == 2.5 * (512 + 128) * 2


def test_answers_that_were_right_are_not_counted_as_wrong():
    """The 640 MiB of llama.cpp's own log for Llama 2 70B is the one public answer that agrees."""
    assert {c.key for c in COMPLAINTS} - {c.key for c in wrong()} == {"B43"}
