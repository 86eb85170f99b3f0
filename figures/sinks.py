"""The first tokens and the last few: what stays, and which position each row gets."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

WINDOWS = tuple(range(2, 9))
SINKS = tuple(range(5))
N_TOKENS = 20


class Sinks(Figure):
    tokens = param.Integer(
        default=14, bounds=(1, N_TOKENS), label="Tokens so far", doc="Tokens written."
    )
    window = param.Integer(
        default=4, bounds=(WINDOWS[0], WINDOWS[-1]), label="Window", doc="Newest tokens kept."
    )
    sinks = param.Integer(
        default=4, bounds=(SINKS[0], SINKS[-1]), label="Sinks", doc="First tokens kept for good."
    )

    title = "The first few and the last few"
    description = (
        "A line of tokens, some kept and some evicted, and under it the rows of the cache, each "
        "with the position its key is rotated to: its place in the cache, not in the text."
    )
    sources = ("model.storage.sinks:Streaming",)

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Tokens kept by a real store after each token, for every window and number of sinks."""
        return recorded()


@cache
def recorded() -> dict[str, Any]:
    from model.storage.demonstration import streaming_rows  # noqa: PLC0415 -- loads torch

    return {
        "rows": {
            f"{window}/{sinks}": streaming_rows(window, sinks, N_TOKENS)
            for window in WINDOWS
            for sinks in SINKS
        }
    }
