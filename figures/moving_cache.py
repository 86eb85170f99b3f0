"""Fetching a cache or computing it again: seconds over each link, beside a prefill."""

from functools import cache
from typing import Any

import param

from figures.base import Figure
from figures.serving_costs import FIRST as MODELS
from model.hardware import CHIPS
from model.serving.transfer import (
    LINKS,
    break_even_bytes_per_s,
    cache_bytes,
    handover_bits_per_s,
    load_seconds,
    recompute_seconds,
)
from model.sizing.catalogue import find, model_of
from model.work_of import work_of

TOKENS = (512, 2_048, 8_192, 32_768, 131_072)
CHIP = "h100"


class MovingCache(Figure):
    model = param.Selector(
        default=2,
        objects={name: i for i, name in enumerate(MODELS)},
        label="Model",
        doc="Whose cache is moved.",
    )
    tokens = param.Integer(
        default=3, bounds=(0, len(TOKENS) - 1), label="Tokens", doc="Length of the cached text."
    )

    title = "Fetch it, or compute it again"
    description = (
        "One bar a link: seconds to fetch the cache of a text over it; the last bar is the time "
        "to compute the same rows again at half of a chip's peak."
    )
    sources = (
        "model.serving.transfer:load_seconds",
        "model.serving.transfer:recompute_seconds",
        "model.serving.transfer:handover_bits_per_s",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Bytes and seconds of each model and length over each link."""
        return timed()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}


@cache
def timed() -> dict[str, Any]:
    links = [vars(link) for link in LINKS.values()]
    rows = [[_row(name, n) for n in TOKENS] for name in MODELS]
    return {
        "models": MODELS,
        "most": [model_of(find(name).name).max_tokens for name in MODELS],
        "tokens": TOKENS,
        "links": links,
        "rows": rows,
        "chip": CHIP_NAME,
    }


CHIP_NAME = CHIPS[CHIP].name


def _row(name: str, n: int) -> dict[str, Any]:
    work, chip = work_of(name), CHIPS[CHIP]
    return {
        "bytes": cache_bytes(work, n),
        "load": [load_seconds(work, n, link) for link in LINKS.values()],
        "again": recompute_seconds(work, n, chip),
        "break_even": break_even_bytes_per_s(work, n, chip),
        "handover": handover_bits_per_s(work, n, 10.0),
    }
