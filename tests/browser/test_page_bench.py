"""The page's benchmark measures what it says it does; its times are nobody's promise here."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app import page_bench
from app.__main__ import main
from app.page_measures import sentences
from model.toy.record import record

pytestmark = pytest.mark.browser


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield value


def test_the_sentence_traced_has_twelve_words_and_none_is_typed_twice():
    assert len(record(page_bench.SENTENCE).reading.tokens) == 12
    assert len(set(sentences(90))) == 90


def test_every_measure_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    few = {"N_TRACES": 2, "N_LOADS": 1, "N_SENTENCES": 3, "N_ROUNDS": 1, "N_READERS": 2}
    for name, n in few.items():
        monkeypatch.setattr(page_bench, name, n)
    with ThreadPoolExecutor(1) as pool:  # it drives a browser of its own; one a thread
        assert pool.submit(main, ["bench", "--page", "--json"]).result() == 0
    found = json.loads(capsys.readouterr().out)
    names = ("trace", "typing_to_figure", "step_to_paint", "first_paint", "idle", "weight")
    assert {*names, "reader", "machine"} <= found.keys()
    for name in names:
        assert all(math.isfinite(n) and n > 0 for n in numbers(found[name])), found[name]
    assert found["weight"]["compressed_bytes"] < found["weight"]["raw_bytes"]
    assert found["reader"]["cpu_ms"] > 0
    assert all(name in page_bench.table(found) for name in ("typing to figure", "page weight"))
