"""A run is a stream of events: in order, bounded, the same however it is computed."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from app.__main__ import main
from model.engine.build import random_checkpoint
from model.engine.config import EngineConfig
from model.engine.devices import check_fits, choose_device, choose_dtype
from model.engine.drafting import prompt_lookup
from model.engine.events import Finished, Prefilled, Written
from model.engine.generate import Drafter, Options, generate
from model.engine.keeping import FORMATS, Keeping
from model.engine.session import Forgetful, Remembering, Session, room_of
from model.engine.sources import HOW_TO_GET_SMOLLM2
from model.errors import BadInput
from model.sampling import Sampling
from model.storage.codecs import CODECS
from tests.oracles.engine import CPU, in_engine

CONFIG = EngineConfig(
    n_layers=2, n_heads=4, n_kv_heads=2, d_head=32, d_model=32, d_ff=48, vocab_size=31, context=96
)
MODEL = in_engine(random_checkpoint(CONFIG, 8, device=CPU, dtype=torch.float64))
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
FREE = Sampling(temperature=1.0)


def events(session: Session, **options: object) -> list[Prefilled | Written | Finished]:
    return list(generate(session, PROMPT, Options(**{"max_tokens": 40, **options})))  # pyright: ignore[reportArgumentType]


def tokens(session: Session, **options: object) -> list[int]:
    return [event.token for event in events(session, **options) if isinstance(event, Written)]


def remembering(**keeping: object) -> Remembering:
    return Remembering(MODEL, 60, keeping=Keeping(**keeping))  # pyright: ignore[reportArgumentType]


PLAIN = tokens(remembering())
SAMPLED = tokens(remembering(), sampling=FREE, seed=3)


def test_events_come_as_progress_then_words_then_one_account():
    kinds = [type(event) for event in events(remembering(), chunk=3)]
    assert kinds == [Prefilled] * 3 + [Written] * 40 + [Finished]


@given(chunk=st.integers(1, 12))
def test_progress_rises_to_the_whole_prompt_in_chunks(chunk: int):
    steps = [e.n_done for e in events(remembering(), chunk=chunk) if isinstance(e, Prefilled)]
    assert steps[-1] == len(PROMPT)
    assert all(0 < later - sooner <= chunk for sooner, later in pairwise([0, *steps]))


def test_forgetting_everything_writes_the_same_text():
    assert tokens(Forgetful(MODEL)) == PLAIN


def test_a_seed_repeats_a_sampled_text_and_another_changes_it():
    assert tokens(remembering(), sampling=FREE, seed=3) == SAMPLED
    assert tokens(remembering(), sampling=FREE, seed=4) != SAMPLED


DRAFTERS: dict[str, Drafter] = {
    "lookup": prompt_lookup(CONFIG.vocab_size),
    "always-wrong": lambda text, n: [(PLAIN[len(text) - len(PROMPT)] + 1) % 31] * n,
    "always-right": lambda text, n: PLAIN[len(text) - len(PROMPT) :][:n],
    "silent": lambda _text, _n: [],
    "talkative": lambda _text, n: [0] * (n + 5),
}


@pytest.mark.parametrize("drafter", DRAFTERS.values(), ids=DRAFTERS)
@settings(max_examples=8)
@given(n_drafts=st.integers(1, 8))
def test_drafts_change_no_word_greedy_or_sampled(drafter: Drafter, n_drafts: int):
    assert tokens(remembering(), drafter=drafter, n_drafts=n_drafts) == PLAIN
    assert (
        tokens(remembering(), drafter=drafter, n_drafts=n_drafts, sampling=FREE, seed=3) == SAMPLED
    )


def test_right_drafts_save_passes_and_wrong_ones_cost_none():
    right = events(remembering(), drafter=DRAFTERS["always-right"], n_drafts=4)[-1]
    wrong = events(remembering(), drafter=DRAFTERS["always-wrong"], n_drafts=4)[-1]
    assert isinstance(right, Finished)
    assert isinstance(wrong, Finished)
    assert (right.n_passes, wrong.n_passes) == (8, 39)  # 39 tokens after the first, 5 a pass


def test_drafts_in_a_window_read_what_the_window_reads():
    plain = tokens(remembering(window=6))
    for drafter in DRAFTERS.values():
        kept = remembering(window=6, spare=4)
        assert tokens(kept, drafter=drafter, n_drafts=4) == plain


def test_a_run_ends_at_eos_at_the_length_or_when_cancelled():
    eos = PLAIN[5]
    at_eos = events(remembering(), eos=(eos,))[-1]
    calls = iter(range(100))
    cancelled = events(remembering(), cancelled=lambda: next(calls) > 6)[-1]
    assert isinstance(at_eos, Finished)
    assert isinstance(cancelled, Finished)
    assert (at_eos.reason, at_eos.n_new) == ("eos", PLAIN.index(eos) + 1)
    assert (cancelled.reason, cancelled.n_new) == ("cancelled", 7)
    assert events(remembering())[-1].reason == "length"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_closed_run_leaves_its_session_usable():
    session = remembering()
    run = generate(session, PROMPT, Options(max_tokens=40))
    for _ in range(6):
        next(run)
    run.close()
    session.crop(0)
    assert tokens(session) == PLAIN


@pytest.mark.parametrize("k_format", FORMATS)
def test_every_format_writes_and_counts_its_own_bytes(k_format: str):
    whole = k_format.startswith("kivi")
    session = remembering(k_format=k_format, v_format=k_format if whole else "int8")
    done = events(session)[-1]
    assert isinstance(done, Finished)
    assert done.nbytes_held > 0
    if not whole:
        wide = CONFIG.d_head * 8
        key = CODECS[k_format].row_bytes(CONFIG.d_head) if k_format in CODECS else wide
        row = key + CODECS["int8"].row_bytes(CONFIG.d_head)
        n_rows = CONFIG.n_layers * CONFIG.n_kv_heads * (len(PROMPT) + 40 - 1)
        assert done.nbytes_held == n_rows * row


def test_a_cache_measures_what_the_formula_says():
    session = remembering()
    done = events(session)[-1]
    assert isinstance(done, Finished)
    n_tokens = len(PROMPT) + 40 - 1  # the last word was chosen, never fed
    assert done.nbytes_held == CONFIG.numbers_per_token * 8 * n_tokens
    assert done.nbytes == CONFIG.numbers_per_token * 8 * 60


@pytest.mark.parametrize(("window", "sinks"), [(6, 0), (6, 2)])
def test_a_window_stops_the_cache_from_growing(window: int, sinks: int):
    done = events(remembering(window=window, sinks=sinks))[-1]
    assert isinstance(done, Finished)
    assert done.nbytes == CONFIG.numbers_per_token * 8 * (window + sinks)


def test_sinks_let_a_text_outgrow_the_context():
    session = Remembering(MODEL, 300, keeping=Keeping(window=20, sinks=2))
    done = events(session, max_tokens=200)[-1]
    assert isinstance(done, Finished)
    assert done.n_new == 200 > CONFIG.context


BAD: dict[str, tuple[dict[str, object], str]] = {
    "no-tokens": ({"max_tokens": 0}, "at least 1, got 0"),
    "too-many": ({"max_tokens": 89}, "at most 88"),
    "no-chunk": ({"chunk": 0}, "chunk must be at least 1"),
}


@pytest.mark.parametrize(("options", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_written_is_refused_with_both_numbers(
    options: dict[str, object], words: str
):
    with pytest.raises(BadInput, match=words):
        events(Remembering(MODEL, 200), **options)


@pytest.mark.parametrize("prompt", [[], [31], [-1]], ids=str)
def test_prompts_outside_the_vocabulary_are_refused(prompt: list[int]):
    with pytest.raises(BadInput):
        list(generate(remembering(), prompt))


@pytest.mark.parametrize(
    "keeping",
    [
        {"window": 0},
        {"sinks": 1},
        {"sinks": -1, "window": 3},
        {"k_format": "int3"},
        {"k_format": "kivi-2"},
        {"k_format": "kivi-2", "v_format": "kivi-2", "window": 8},
        {"window": 4, "sinks": 1, "spare": 2},
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused(keeping: dict[str, object]):
    with pytest.raises(BadInput):
        Keeping(**keeping)  # pyright: ignore[reportArgumentType]


def test_what_does_not_fit_in_memory_is_refused_before_it_is_tried():
    with pytest.raises(BadInput, match=r"take 1024\.0 GiB, cpu has .* GiB free"):
        check_fits(2**40, CPU, "weights")


def test_a_failed_allocation_is_bad_input():
    huge = replace(room_of(MODEL, 1), capacity=2**45)
    session = remembering()
    session.feed = lambda tokens: huge.empty(2**45)[0]  # noqa: ARG005
    with pytest.raises(BadInput, match="out of memory"):
        list(generate(session, PROMPT, Options(max_tokens=4)))


@pytest.mark.parametrize("name", ["tpu", "cuda", "mps"])
def test_absent_devices_are_refused(name: str):
    if name != "tpu" and getattr(torch, name).is_available():
        pytest.skip(f"this machine has {name}")
    with pytest.raises(BadInput):
        choose_device(name)


def test_precision_is_float32_on_a_cpu_unless_said():
    assert choose_dtype(None, CPU) == torch.float32
    with pytest.raises(BadInput, match="'int4' is no precision"):
        choose_dtype("int4", CPU)


def test_without_the_extra_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("model.engine.sources.smollm2_path", lambda: None)
    assert main(["generate", "hello"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"kvscroll: {HOW_TO_GET_SMOLLM2}\n")


@pytest.mark.smollm
def test_the_command_prints_json_alone(capsys: pytest.CaptureFixture[str]):
    assert main(["generate", "The capital of France is", "--max-tokens", "8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["text"].startswith(" Paris")
    assert told["cache_bytes"] == 12 * 46_080
