"""From a step's distribution to a word: each stage of sampling, on the reader's sentence."""

from functools import cache
from typing import Any

import param

from figures.base import Figure, Time

PERCENT = 100


class Choosing(Figure):
    t = Time(default=1, doc="The step whose word is chosen again.")
    temperature = param.Selector(
        default=400,
        objects={str(x): round(x * PERCENT) for x in (0, 0.2, 0.5, 0.7, 1, 2, 4, 8)},
        label="Temperature",
        doc="What logits are divided by; 0 takes the likeliest word and draws nothing.",
    )
    top_k = param.Selector(
        default=8,
        objects={"all": 0} | {str(k): k for k in (1, 2, 3, 5, 8, 40)},
        label="Top-k",
        doc="How many of the likeliest words may be drawn.",
    )
    top_p = param.Selector(
        default=90,
        objects={str(x): round(x * PERCENT) for x in (0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 1)},
        label="Top-p",
        doc="Words are kept while the mass before them is below this.",
    )
    min_p = param.Selector(
        default=5,
        objects={str(x): round(x * PERCENT) for x in (0, 0.01, 0.05, 0.1, 0.3, 1)},
        label="Min-p",
        doc="Words at least this share as likely as the likeliest are kept.",
    )
    seed = param.Integer(
        default=1, bounds=(1, 20), label="Seed", doc="Where the random draw starts."
    )

    title = "Choosing the next word"
    description = (
        "The likeliest words of one step down the side, the stages of sampling across. A number is "
        "a word's probability after that stage; an empty cell is a word that may not be drawn."
    )
    sources = ("model.sampling:Sampling.stages", "model.sampling:inverse_cdf")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """What the first state shows; others are asked of the server."""
        return first()


@cache
def first() -> dict[str, Any]:
    from model.sampling import ORDER, TIE_RULE  # noqa: PLC0415 -- these load torch
    from model.toy.examples import EXAMPLES  # noqa: PLC0415
    from model.toy.record import record  # noqa: PLC0415

    defaults = {name: Choosing.param[name].default for name in ("t", *KNOBS)}
    trace = record(EXAMPLES[0])
    return {
        "order": ORDER,
        "ties": TIE_RULE,
        "asked": {"text": trace.reading.text, **defaults},
        "answer": chosen(trace, defaults),
    }


KNOBS = ("temperature", "top_k", "top_p", "min_p", "seed")


def chosen(trace: Any, asked: dict[str, int]) -> dict[str, Any]:
    """Choose at a step with what the controls say; words spelt as the page spells them."""
    from figures.recording import shown  # noqa: PLC0415
    from model.sampling import Sampling  # noqa: PLC0415
    from model.toy.choosing import choose_again  # noqa: PLC0415

    sampling = Sampling(
        temperature=asked["temperature"] / PERCENT,
        top_k=asked["top_k"] or None,
        top_p=asked["top_p"] / PERCENT,
        min_p=asked["min_p"] / PERCENT,
    )
    found = choose_again(trace, asked["t"], sampling, asked["seed"])
    words = [shown(trace, word) for word in found["words"]]
    return {**found, "words": words, "chosen": shown(trace, found["chosen"])}
