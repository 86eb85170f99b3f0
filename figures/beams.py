"""Beam search on the reader's sentence: who continues whom, and what the caches do about it."""

from typing import Any

import param

from figures.base import Figure

MOST_STEPS = 24


class Beams(Figure):
    width = param.Selector(
        default=3,
        objects={"1, greedy": 1, "2": 2, "3": 3, "4": 4},
        label="Beams",
        doc="How many beginnings are kept.",
    )
    step = param.Integer(
        default=4, bounds=(0, MOST_STEPS - 1), label="Step", doc="Words written so far."
    )
    penalty = param.Selector(
        default=0,
        objects={"total": 0, "mean per word": 1},
        label="Score is",
        doc="Length penalty 0: the log-probability. Length penalty 1: divided by the words.",
    )

    title = "Beams change places, caches follow"
    description = (
        "A column a step, a cell a beam, with the word it adds; lines lead from the beam that is "
        "continued, and beams that nobody continues are faint. Below, a row a beam: its score and "
        "the numbers of the blocks its cache is in. At the end, what was found, best first."
    )
    sources = ("model.beam:beam_search", "model.beam:best", "model.beam:ForkedBeams.reorder")

    @classmethod
    def data(cls) -> dict[str, Any]:
        from model.toy.searching import BLOCK_SIZE  # noqa: PLC0415 -- loads torch

        return {"block_size": BLOCK_SIZE}

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"step": tuple(range(1, MOST_STEPS + 1))}


def searched(trace: Any) -> dict[str, Any]:
    """Translate a sentence with every width; words spelt as the page spells them."""
    from model.toy.searching import WIDTHS, search  # noqa: PLC0415 -- load torch
    from model.toy.translating import sentence_of  # noqa: PLC0415

    sentence = sentence_of(trace.reading.text)
    return {
        "text": trace.reading.text,
        "searched": {str(n): _spelt(trace, search(sentence, n)) for n in WIDTHS},
    }


def _spelt(trace: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Tell a search in words. greedy: by length penalty, whether the best is the page's own."""
    from figures.recording import shown  # noqa: PLC0415

    def word(token: int) -> str:
        return shown(trace, trace.vocabulary[token])

    own = [shown(trace, one) for one in trace.words]
    for step in found["steps"]:
        step["beams"] = [{**beam, "word": word(beam.pop("token"))} for beam in step["beams"]]
    ranked = {
        penalty: [{**one, "words": [word(t) for t in one.pop("tokens")]} for one in best_first]
        for penalty, best_first in found["ranked"].items()
    }
    greedy = {penalty: best_first[0]["words"] == own for penalty, best_first in ranked.items()}
    return {**found, "ranked": ranked, "greedy": greedy}
