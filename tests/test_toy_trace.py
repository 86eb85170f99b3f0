"""A trace is a recording: complete, read-only, drawn without torch, printed by a command."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from app.__main__ import main
from model.toy.record import record

TRACE = record("Bob doesn't see the black cat 🍕")


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays(getattr(value, field.name))


def test_every_array_is_read_only_float64_in_c_order():
    found = list(arrays(TRACE))
    assert len(found) > 500
    for array in found:
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_a_trace_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        TRACE.cached.steps[0].word = "chien"  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_recorded_adds_up():
    for run in (TRACE.naive, TRACE.cached):
        for step in run.steps:
            np.testing.assert_array_equal(
                step.embedded.x, step.embedded.embedding + step.embedded.position
            )
            assert abs(step.probabilities.sum() - 1) < 1e-12
            assert step.word_id == step.likeliest(1)[0]
            for layer in step.layers:
                for attention in (layer.attention, layer.cross):
                    expected = attention.q @ attention.k.transpose(0, 2, 1) / 2
                    kept = ~np.isneginf(attention.scores)
                    assert np.abs(attention.scores[kept] - expected[kept]).max() < 1e-12
                    assert np.abs(attention.weights.sum(-1) - 1).max() < 1e-12
                    assert np.abs(attention.weights @ attention.v - attention.heads).max() < 1e-12


def test_a_step_shows_what_it_fed():
    assert [step.fed for step in TRACE.cached.steps] == [
        (word,) for word in ("<s>", *TRACE.words[:-1])
    ]
    for n, step in enumerate(TRACE.naive.steps, start=1):
        assert step.fed == ("<s>", *TRACE.words[: n - 1])
        assert (step.n_new, step.n_seen) == (n, n)


def test_carried_words_come_back_as_typed():
    assert TRACE.shown("<1>") == "Bob"
    assert "🍕" in TRACE.sentence


def test_a_trace_is_read_without_torch():
    code = "import sys, model.toy.trace, model.toy.examples; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# The command


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["trace", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_prints_the_run(capsys: pytest.CaptureFixture[str]):
    found = printed(capsys, "the black cat", "--json")
    n = len(found["words"])
    assert len(found["steps"]) == n == found["positions_cached"]
    assert found["positions_full"] == n * (n + 1) // 2
    assert [step["word"] for step in found["steps"]] == found["words"]
    assert (found["same_words"], found["max_abs_diff"]) == (True, 0.0)
    assert (found["numbers_per_token"], found["cache_bytes"]) == (32, 32 * 8 * n)
    assert found["cross_bytes"] == 32 * 8 * 4
    for step in found["steps"]:
        assert step["probability_cached"] == step["probability_full"]
    assert found["work_cached"]["flops"] < found["work_full"]["flops"]


def test_the_full_print_holds_every_row(capsys: pytest.CaptureFixture[str]):
    found = printed(capsys, "the black cat", "--json", "--full")
    trace = record("the black cat")
    for name, run in (("cached", trace.cached), ("full", trace.naive)):
        for step, recorded in zip(found[name]["steps"], run.steps, strict=True):
            assert step["layers"][1]["attention"]["k"] == recorded.layers[1].attention.k.tolist()
            assert step["logits"] == recorded.logits.tolist()
    assert found["full"]["steps"][1]["layers"][0]["attention"]["scores"][0][0][1] is None


def test_any_text_prints_valid_json(capsys: pytest.CaptureFixture[str]):
    for text in ("<script>alert(1)</script>", "\ud800 x", "שלום 🍕 e\u0301", "cat " * 3000):
        found = printed(capsys, text, "--json")
        assert found["max_abs_diff"] == 0.0


def test_the_table_names_what_was_not_read(capsys: pytest.CaptureFixture[str]):
    assert main(["trace", "the cat sat on the mat and the dog sat on the mat today"]) == 0
    shown = capsys.readouterr().out
    assert "not read" in shown
    assert "largest difference of a logit 0.0" in shown


@pytest.mark.parametrize("text", ["", "  \n", "\u200b"])
def test_nothing_typed_is_refused_in_one_line(text: str, capsys: pytest.CaptureFixture[str]):
    assert main(["trace", text]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "type at least 1 word" in output.err
