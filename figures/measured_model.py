"""A real model measured: what shipped measurements found, and under which circumstances."""

from functools import cache
from pathlib import Path
from typing import Any

import param

from figures.base import Figure
from model.engine.shipped import FEWER_BITS, FEWER_ROWS, read_measurements

FOLDER = Path(__file__).resolve().parents[1] / "content" / "measurements"


@cache
def measured() -> dict[str, dict[str, Any]]:
    return read_measurements(FOLDER)


def menu() -> dict[str, str]:
    """Every measurement by a plain name: what was measured, and with how many threads if told."""
    titles = [one["title"] for one in measured().values()]
    return {
        plain(one, alone=titles.count(one["title"]) == 1): name for name, one in measured().items()
    }


def plain(one: dict[str, Any], *, alone: bool) -> str:
    n = one["threads"]
    threads = "" if alone else f", {n} thread" if n == 1 else f", {n} threads"
    return one["title"].capitalize() + threads


class MeasuredModel(Figure):
    measurement = param.Selector(
        default=next(iter(measured()), None),
        objects=menu(),
        label="Measurement",
        doc="Which of the shipped measurements is shown.",
    )

    title = "A real model, measured"
    description = (
        "One bar a way of running the model, with the number measured for it; below, when, with "
        "which command and on what it was measured. Perplexities can be measured here, too."
    )
    sources = ("model.engine.bench:take_turns", "model.engine.shipped:tell")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Every measurement; `live` marks the ones a reader can take again on this machine."""
        live = {FEWER_ROWS, FEWER_BITS}
        return {name: {**one, "live": one["title"] in live} for name, one in measured().items()}
