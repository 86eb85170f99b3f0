"""A ring buffer as it fills and overwrites, and how far a stack of windows reaches."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

WINDOWS = tuple(range(2, 9))
N_TOKENS = 20
LAYERS = tuple(range(1, 5))


class Ring(Figure):
    tokens = param.Integer(
        default=10, bounds=(1, N_TOKENS), label="Tokens so far", doc="Tokens written to the ring."
    )
    window = param.Integer(
        default=4,
        bounds=(WINDOWS[0], WINDOWS[-1]),
        label="Window",
        doc="Slots of the ring; the newest token is one of them.",
    )
    layers = param.Integer(
        default=2, bounds=(LAYERS[0], LAYERS[-1]), label="Layers", doc="Windowed layers stacked."
    )

    title = "A ring of the last few tokens"
    description = (
        "The slots of a ring buffer, each with the token whose key and value it holds, and below "
        "a line of tokens showing how far back a stack of such layers can see."
    )
    sources = ("model.storage.ring:Ring.append", "model.stacks:receptive_field")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Slots of a real ring store after each token, and the reach of each stack."""
        return recorded()


@cache
def recorded() -> dict[str, Any]:
    from model.stacks import receptive_field  # noqa: PLC0415 -- loads torch
    from model.storage.demonstration import ring_slots  # noqa: PLC0415

    return {
        "slots": {str(window): ring_slots(window, N_TOKENS) for window in WINDOWS},
        "reach": {str(w): [receptive_field([w] * layers) for layers in LAYERS] for w in WINDOWS},
    }
