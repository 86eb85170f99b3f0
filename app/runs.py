"""Runs of the toy, ready for the browser; shared between readers because they are frozen."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from app import deeper_runs, variant_runs
from app.calculator import MAX_FORM_CHARS, calculate
from app.machine import machine
from app.quality_run import quality_part
from app.real_model import MAX_PROMPT_CHARS, model_part
from figures.beams import searched
from figures.recording import extras, payload, shown
from figures.speculation import drafted
from model.toy.compare import compare
from model.toy.config import ToyConfig
from model.toy.patterned import read_under_patterns
from model.toy.record import record
from model.toy.trace import Trace

MAX_CHARS = 2_000
KEPT_RUNS = 256  # about 100 kB each

DEFAULT_SENTENCE = "The black cat sees a white bird."
EXAMPLES = (
    DEFAULT_SENTENCE,
    "I love you",
    "The cat sat on the mat",
    "The quick brown fox jumps over the lazy dog",
    "My dog is very happy!",
    "She does not eat the red apple",
    "We don't like pineapple pizza 🍕",
)


@lru_cache(maxsize=KEPT_RUNS)
def run_of(text: str) -> dict[str, Any]:
    """Everything the page draws of one sentence.

    Raises
    ------
    BadInput
        There is nothing to read in the text.
    """
    return payload(trace_of(text), ToyConfig().max_words)


@lru_cache(maxsize=KEPT_RUNS)
def extras_of(text: str) -> dict[str, Any]:
    """What lesson 1 compares that run with."""
    trace = trace_of(text)
    return extras(trace, compare(trace))


@lru_cache(maxsize=32)
def trace_of(text: str) -> Trace:
    return record(text)


@lru_cache(maxsize=KEPT_RUNS)
def patterns_of(text: str) -> dict[str, Any]:
    """The words the toy writes when its decoder reads under each pattern of lesson 3."""
    trace = trace_of(text)
    runs = read_under_patterns(text)
    rows = [{"pattern": r.pattern, "words": [shown(trace, w) for w in r.words]} for r in runs]
    return {"text": text, "patterns": rows}


def of_run(make: Callable[[Trace], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    """Answer a text with what `make` makes of its run, kept for the next reader."""
    return lru_cache(maxsize=KEPT_RUNS)(lambda text: make(trace_of(text)))


# What the wire answers: a part's name, and the function of the text that computes it.
PARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "run": run_of,
    "extras": extras_of,
    "variants": of_run(variant_runs.variants),
    "heads": of_run(variant_runs.heads),
    "latent": of_run(variant_runs.latent),
    "stored": of_run(variant_runs.stored),
    "patterns": patterns_of,
    "online": of_run(deeper_runs.online),
    "kept": of_run(deeper_runs.kept),
    "drafted": of_run(drafted),
    "beams": of_run(searched),
    "choice": lambda asked: deeper_runs.choice(asked, trace_of),
    "machine": machine,
    "size": calculate,
}
LONGER = {
    "size": MAX_FORM_CHARS,
    "choice": deeper_runs.MAX_CHOICE_CHARS,
}  # parts whose text is not a sentence


# Parts that belong to one reader, who is told apart by a name nobody else can guess.
PERSONAL: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "model": model_part,
    "quality": quality_part,
}
LONGER |= {"model": MAX_PROMPT_CHARS * 2}


def part_of(part: str, text: str, owner: str) -> dict[str, Any]:
    """Answer one question of the wire, its text cut to what the part may read."""
    text = text[: LONGER.get(part, MAX_CHARS)]
    return PERSONAL[part](text, owner) if part in PERSONAL else PARTS[part](text)
