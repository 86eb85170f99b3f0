"""Softmax attention block by block: a running maximum, sum and mix, rescaled as they go."""

from functools import cache
from typing import Any

import param

from figures.base import Figure, one_of_two

BLOCKS = tuple(range(1, 9))
ROWS = {
    "one late maximum": [0.0, 0.5, -1.0, 0.2, 0.1, 6.0],
    "huge scores": [900.0, 905.0, 899.0, 910.0, 880.0, 907.0],
    "falling": [5.0, 4.0, 3.0, 2.0, 1.0, 0.0],
    "first block hidden": [float("-inf"), float("-inf"), 0.3, 1.2, -0.4, 0.9],
}
VALUES = [[10.0], [20.0], [30.0], [40.0], [50.0], [60.0]]
YOURS = "your sentence"


class OnlineSoftmax(Figure):
    scores = param.Selector(
        default=YOURS,
        objects={name: name for name in (YOURS, *ROWS)},
        label="Scores",
        doc="Which row of scores is read: of the reader's sentence, or a hard one.",
    )
    block = param.Integer(
        default=2, bounds=(BLOCKS[0], BLOCKS[-1]), label="Block", doc="Keys read at a time."
    )
    step = param.Integer(
        default=1, bounds=(0, 23), label="After block", doc="How many blocks have been read."
    )
    layer = one_of_two("Layer", "Whose scores are read.")
    head = one_of_two("Head", "Whose scores are read.")

    title = "Softmax in blocks"
    description = (
        "A row of scores cut into blocks. After each block two numbers and a row are kept: the "
        "largest score so far, the sum of exponentials, and the mix of values, as wide as a value; "
        "older ones are rescaled."
    )
    sources = ("model.attention.online_softmax:merge", "model.attention.online_softmax:read_block")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """The states of the hard rows, for every block size."""
        return {name: _hard(name) for name in ROWS}

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"step": tuple(range(1, 25))}


@cache
def _hard(name: str) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415

    return states(np.array(ROWS[name]), np.array(VALUES))


def states(scores: Any, values: Any) -> dict[str, Any]:
    """The state after each block for every block size, and the softmax of the whole row."""
    from model.attention.online_table import record_row  # noqa: PLC0415 -- loads torch

    return record_row(scores, values, BLOCKS)
