"""Texts that begin alike in one tree: where they part, an edge is split."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

TEXTS = (
    "translate to French : the black cat sees a white bird",
    "translate to French : the black cat sees a red car",
    "translate to French : the black dog sleeps",
    "translate to German : the black dog sleeps",
    "what is a cache ?",
    "translate to French : the black cat sees a red car and a bird",
)
BLOCK_SIZE = 4


class PrefixTrees(Figure):
    texts = param.Integer(
        default=2,
        bounds=(0, len(TEXTS) - 1),
        label="Texts stored",
        doc="How many texts have come so far, one after another.",
    )

    title = "One tree of beginnings"
    description = (
        "Every box is an edge: a stretch of words whose rows are kept once. Texts that begin "
        "alike run through the same boxes and part where they differ."
    )
    sources = (
        "model.serving.prefix_tree:PrefixTree.insert",
        "model.serving.prefix_tree:PrefixTree._descend",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        """The tree after each text, and what whole blocks would have found."""
        return {"after": grown(), "block": BLOCK_SIZE}

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"texts": tuple(range(1, len(TEXTS) + 1))}


@cache
def grown() -> list[dict[str, Any]]:
    from model.serving.prefix_tree_record import record_growth  # noqa: PLC0415

    return record_growth([text.split() for text in TEXTS], BLOCK_SIZE)
