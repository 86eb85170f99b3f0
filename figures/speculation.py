"""Rounds of speculative decoding: drafted, checked in one pass, accepted or rolled back."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

PROMPT = [3, 7, 1, 7, 3, 7]
NEW_TOKENS, MOST_DRAFTS = 18, 6
LAYERS, SEED = 3, 2
LOOKUP = "lookup"


class Speculation(Figure):
    drafter = param.Selector(
        default="2",
        objects={
            "its first two layers": "2",
            "its first layer": "1",
            "looking back in the text": LOOKUP,
        },
        label="Drafts by",
        doc="A smaller model, or what followed the same tokens earlier in the text.",
    )
    drafts = param.Integer(
        default=4, bounds=(1, MOST_DRAFTS), label="Drafts a round", doc="Tokens guessed ahead."
    )
    round = param.Integer(
        default=0, bounds=(0, NEW_TOKENS - 1), label="Round", doc="Passes of the target so far."
    )

    title = "Draft, verify, accept, roll back"
    description = (
        "The text so far as a row of token numbers; under it the drafts of one round, those that "
        "stand and those refused, the token the pass itself adds, and the rows left in the cache."
    )
    sources = ("model.speculation:judge", "model.speculation:speculate")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Every drafter with every number of drafts, and the sampled law by enumeration."""
        return recorded()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"round": tuple(range(1, NEW_TOKENS + 1))}


@cache
def recorded() -> dict[str, Any]:
    from model.config import DecoderConfig  # noqa: PLC0415 -- these load torch
    from model.decoder import Decoder  # noqa: PLC0415
    from model.speculation import Limits  # noqa: PLC0415
    from model.speculation_record import (  # noqa: PLC0415
        by_first_layers,
        by_lookup,
        law_gap,
        record_speculation,
    )

    decoder = Decoder(DecoderConfig(n_layers=LAYERS), SEED)
    makers = {"2": by_first_layers(2), "1": by_first_layers(1), LOOKUP: by_lookup}
    runs = {
        f"{name}/{n}": record_speculation(
            decoder, PROMPT, make, Limits(new_tokens=NEW_TOKENS, draft_tokens=n)
        )
        for name, make in makers.items()
        for n in range(1, MOST_DRAFTS + 1)
    }
    tiny = DecoderConfig(vocab_size=2, d_model=8, d_head=4, n_heads=2, n_kv_heads=1, d_ff=8)
    exact = law_gap(
        tiny, SEED, by_first_layers(1), PROMPT[2:3], Limits(new_tokens=3, draft_tokens=2)
    )
    return {"prompt": PROMPT, "layers": LAYERS, "runs": runs, "exact": exact}
