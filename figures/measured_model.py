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


class MeasuredModel(Figure):
    measurement = param.Selector(
        default=next(iter(measured()), None),
        objects={name: name for name in measured()},
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
