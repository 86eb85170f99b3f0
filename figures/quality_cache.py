"""Accuracy against cached numbers per word, one dot a trained seed."""

from typing import Any

import param
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from figures.variant_words import NAMES, listed

KINDS = {"sentences of the grammar": "grammar", "with unknown words": "unknown"}
STEP = 0.7  # numbers by which neighbours that keep the same are drawn apart


class QualityCache(Figure):
    kind = param.Selector(
        default="grammar", objects=KINDS, label="Test sentences", doc="What was translated."
    )
    variant = param.Selector(
        default="mha", objects=NAMES, label="Point out", doc="Which variant is drawn filled."
    )

    title = "Exactly right, against numbers kept"
    description = (
        "A dot for each of three seeds of each variant: across, the numbers a word leaves in the "
        "cache, equal ones side by side; up, the share of unseen test sentences translated "
        "exactly. A bar marks each variant's median."
    )
    sources = ("model.toy.variants.catalogue:Variant", "model.toy.variants.train:measure")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Results of all variants, and where each is drawn so that dots do not hide each other."""
        variants = listed()
        return {"variants": [{**one, "x": place(one, variants)} for one in variants]}

    @classmethod
    def plot(cls) -> figure:
        """The chart; the browser refills the sources called seeds, medians and picked."""
        plane = chart(
            "numbers a word leaves in the cache",
            "exactly right",
            scale="linear",
            x_range=Range1d(start=0, end=36),
            y_range=Range1d(start=0, end=1),
        )
        dots = {"x": [], "y": [], "label": [], "seed": []}
        seeds, picked = (ColumnDataSource(dict(dots), name=name) for name in ("seeds", "picked"))
        medians = ColumnDataSource({"x": [], "y": []}, name="medians")
        plane.scatter("x", "y", source=medians, marker="dash", size=26, color="#5a5c63")
        drawn = plane.scatter(
            "x", "y", source=seeds, size=10, fill_alpha=0, line_width=2, color="#0b5fa5"
        )
        filled = plane.scatter("x", "y", source=picked, size=12, color="#a34700")
        tips = [("", "@label"), ("seed", "@seed"), ("exactly right", "@y{0.0 %}")]
        plane.add_tools(HoverTool(renderers=[drawn, filled], tooltips=tips))
        plane.xaxis.ticker = [0, 8, 16, 24, 32]
        return plane


def place(one: dict[str, Any], variants: list[dict[str, Any]]) -> float:
    """Where a variant stands: at its numbers, moved aside where others keep as many."""
    same = [other["name"] for other in variants if other["numbers"] == one["numbers"]]
    return one["numbers"] + STEP * 2 * (same.index(one["name"]) - (len(same) - 1) / 2)
