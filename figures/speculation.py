"""Rounds of speculative decoding: drafted, checked in one pass, accepted or rolled back."""

from functools import cache
from typing import Any

import param

from figures.base import Figure
from model.toy.drafts_measured import COUNTED, DRAFTS, SMALLER, TEMPERATURES, measured, settings

DRAFTERS = {"a smaller toy": SMALLER, "counted n-grams": COUNTED}
GREEDY = "greedy"
MOST_ROUNDS, SEED = 24, 1
N_ENUMERATED, TOP_K, WARM = 3, 2, 4.0


class Speculation(Figure):
    drafter = param.Selector(
        default=SMALLER,
        objects=DRAFTERS,
        label="Drafts by",
        doc="A toy of one layer, or what followed the last two words in training sentences.",
    )
    writing = param.Selector(
        default=GREEDY,
        objects={"greedy": GREEDY, f"sampled, temperature {TEMPERATURES['sampled']:g}": "sampled"},
        label="Words are",
        doc="The likeliest word each time, or drawn; target and draft alike.",
    )
    drafts = param.Integer(
        default=4,
        bounds=(DRAFTS[0], DRAFTS[-1]),
        label="Drafts a round",
        doc="Words guessed ahead.",
    )
    round = param.Integer(
        default=0, bounds=(0, MOST_ROUNDS - 1), label="Round", doc="Passes of the target so far."
    )

    title = "Draft, verify, accept, roll back"
    description = (
        "Your sentence's translation so far; under it the drafts of one round, those that stand "
        "and those refused, the word the pass itself adds, and the rows left in both caches."
    )
    sources = ("model.speculation:judge", "model.speculation:speculate")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """The sampled law of the page's first sentence by enumeration; many sentences measured."""
        found = measured()
        return {
            "exact": enumerated(),
            "measured": {name: found[name] for name in ("sentences", "settings")},
        }

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"round": tuple(range(1, MOST_ROUNDS + 1))}


@cache
def enumerated() -> dict[str, Any]:
    """Every beginning of a translation, with drafts and without: the laws differ by rounding."""
    from model.sampling import Sampling  # noqa: PLC0415 -- these load torch
    from model.toy.examples import EXAMPLES  # noqa: PLC0415
    from model.toy.translating import exactness, sentence_of  # noqa: PLC0415

    found = exactness(
        sentence_of(EXAMPLES[0]),
        SMALLER,
        Sampling(temperature=WARM, top_k=TOP_K),
        n_words=N_ENUMERATED,
        draft_tokens=2,
    )
    return {**found, "words": N_ENUMERATED, "choices": TOP_K}


def drafted(trace: Any) -> dict[str, Any]:
    """Write a sentence's translation with every drafter and number of drafts, in its words."""
    from model.toy.translating import sentence_of  # noqa: PLC0415 -- loads torch

    sentence = sentence_of(trace.reading.text)
    runs = {
        key: _spelt(trace, sentence, name, n, TEMPERATURES[writing])
        for key, (name, writing, n) in settings().items()
    }
    return {"text": trace.reading.text, "drafted": runs}


def _spelt(trace: Any, sentence: Any, name: str, n: int, temperature: float) -> dict[str, Any]:
    """Tell one run in words as the page prints them, and whether they are those of the page's."""
    from figures.recording import shown  # noqa: PLC0415
    from model.sampling import Sampling  # noqa: PLC0415
    from model.toy.translating import speculated  # noqa: PLC0415

    found = speculated(sentence, name, n, Sampling(temperature=temperature), SEED)
    written = [trace.vocabulary[word] for one in found["rounds"] for word in one["tokens"]]
    for one in found["rounds"]:
        for kind in ("drafted", "tokens"):
            one[kind] = [shown(trace, trace.vocabulary[word]) for word in one[kind]]
    return {**found, "same": written == list(trace.words)}
