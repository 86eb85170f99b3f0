"""Positions computed for a prompt and an answer, with a cache and without, as curves."""

from typing import Any

import param
from bokeh.models import ColumnDataSource, NumeralTickFormatter
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from model import counts

PROMPTS = (1, 2, 4, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
ANSWERS = (1, 2, 4, 6, 10, 20, 50, 100, 200, 500, 1_000)
COUNTS = {
    "naive": counts.positions_naive,
    "cached": counts.positions_cached,
    "naive_scores": counts.scores_naive,
    "cached_scores": counts.scores_cached,
}


class TokenPasses(Figure):
    prompt = param.Integer(
        default=6, bounds=(0, len(PROMPTS) - 1), label="Prompt p", doc="Tokens in the prompt."
    )
    answer = param.Integer(
        default=10, bounds=(0, len(ANSWERS) - 1), label="New tokens n", doc="Tokens generated."
    )

    title = "Positions computed, with a cache and without"
    description = (
        "Two curves over the number of new tokens: without a cache the count of computed "
        "positions bends upwards, with one it is a straight line."
    )
    sources = ("model.counts:positions_naive", "model.counts:positions_cached")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Counts for every pair of slider positions."""
        tables = {
            name: [[count(p, n) for n in ANSWERS] for p in PROMPTS]
            for name, count in COUNTS.items()
        }
        return {"prompts": PROMPTS, "answers": ANSWERS, **tables}

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        """What the positions of the sliders stand for."""
        return {"prompt": PROMPTS, "answer": ANSWERS}

    @classmethod
    def plot(cls) -> figure:
        """The chart; the browser refills the sources called naive, cached and here."""
        drawn = chart(
            "new tokens",
            "positions",
            told=[("new tokens", "@x{0,0}"), ("positions", "@y{0,0}")],
        )
        for name, colour, dash in (("naive", "#b3261e", "dashed"), ("cached", "#0b5fa5", "solid")):
            source = ColumnDataSource({"x": ANSWERS, "y": cls.data()[name][0]}, name=name)
            label = {"naive": "without a cache", "cached": "with a cache"}[name]
            drawn.line(
                "x",
                "y",
                source=source,
                color=colour,
                line_width=3,
                line_dash=dash,
                legend_label=label,
            )
        here = ColumnDataSource({"x": ANSWERS[:1], "y": ANSWERS[:1]}, name="here")
        drawn.scatter("x", "y", source=here, size=11, color="#a34700")
        drawn.legend.location = "top_left"
        drawn.axis.formatter = NumeralTickFormatter(format="0,0")
        return drawn
