"""Places turned into keys, or added to rows: a score that knows the distance alone."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

N_PLACES = 8
SHIFTS = (0, 1, 2, 5, 10, 50, 100, 1_000)


class Positions(Figure):
    layout = param.Selector(
        default="halves",
        objects={"halves (Llama)": "halves", "pairs (paper, DeepSeek)": "pairs"},
        label="Layout",
        doc="Which two numbers of a key are turned together.",
    )
    key = param.Integer(
        default=2, bounds=(0, N_PLACES - 1), label="Key's place", doc="The key looked at."
    )
    shift = param.Integer(
        default=0, bounds=(0, len(SHIFTS) - 1), label="Shift", doc="How far everything moves on."
    )

    title = "Only the distance counts"
    description = (
        "A key as it is made and as it is stored at a place; scores of one query with the key at "
        "every place, here and moved on; and the same for products of sinusoidal position codes."
    )
    sources = ("model.rope:rotate", "model.positions:record_shift", "model.toy.network:sinusoids")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """A real query and key of the toy at every place and shift."""
        return recorded()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"shift": SHIFTS}


@cache
def recorded() -> dict[str, Any]:
    from figures.recording import shown  # noqa: PLC0415 -- these load torch
    from model.positions_table import code_table, rotary_table  # noqa: PLC0415
    from model.toy.examples import EXAMPLES  # noqa: PLC0415
    from model.toy.record import record  # noqa: PLC0415

    trace = record(EXAMPLES[0])
    asked, kept = trace.cached.steps[2], trace.cached.steps[1]
    q, k = asked.layers[0].attention.q[0, -1], kept.layers[0].attention.k[0, -1]
    return {
        "places": N_PLACES,
        "shifts": SHIFTS,
        "query_word": shown(trace, asked.fed[-1]),
        "key_word": shown(trace, kept.fed[-1]),
        "q": q.tolist(),
        "k": k.tolist(),
        "rotary": rotary_table(q, k, N_PLACES, SHIFTS),
        "codes": code_table(N_PLACES, SHIFTS),
    }
