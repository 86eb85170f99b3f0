"""Accuracy beside cached numbers per word, one dot a trained seed."""

from math import pi
from typing import Any

import param
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from figures.variant_words import NAMES, listed

KINDS = {"sentences of the grammar": "grammar", "with unknown words": "unknown"}
APART = 0.22  # of a row: the seeds of a variant one above the other, so that none hides another


class QualityCache(Figure):
    kind = param.Selector(
        default="grammar", objects=KINDS, label="Test sentences", doc="What was translated."
    )
    variant = param.Selector(
        default="mha", objects=NAMES, label="Point out", doc="Which variant is drawn filled."
    )

    title = "Exactly right, against numbers kept"
    description = (
        "A row for each variant, named, with the numbers a word leaves in its cache; in it a dot "
        "for each of three seeds, one above the other: across, the share of unseen test "
        "sentences translated exactly. A stroke marks each variant's median."
    )
    sources = ("model.toy.variants.catalogue:Variant", "model.toy.variants.train:measure")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Results of all variants, each with the name of its row, and how far apart seeds are."""
        return {"variants": [{**one, "row": row_of(one)} for one in listed()], "apart": APART}

    @classmethod
    def plot(cls) -> figure:
        """The chart; the browser refills the sources called seeds, medians and picked."""
        plane = chart(
            "sentences translated exactly right",
            "",
            scale="linear",
            x_range=Range1d(start=0, end=1),
            rows=[row_of(one) for one in reversed(listed())],
        )
        dots = {"x": [], "y": [], "label": [], "seed": []}
        seeds, picked = (ColumnDataSource(dict(dots), name=name) for name in ("seeds", "picked"))
        medians = ColumnDataSource({"x": [], "y": []}, name="medians")
        stroke = {"marker": "dash", "size": 22, "angle": pi / 2, "color": "#5a5c63"}
        plane.scatter("x", "y", source=medians, **stroke)
        drawn = plane.scatter(
            "x", "y", source=seeds, size=8, fill_alpha=0, line_width=2, color="#0b5fa5"
        )
        filled = plane.scatter("x", "y", source=picked, size=9, color="#a34700")
        tips = [("", "@label"), ("seed", "@seed"), ("exactly right", "@x{0.0 %}")]
        plane.add_tools(HoverTool(renderers=[drawn, filled], tooltips=tips))
        plane.xaxis.formatter = NumeralTickFormatter(format="0 %")
        return plane


def row_of(one: dict[str, Any]) -> str:
    """How a variant's row is called: its short name, and the numbers it keeps of a word."""
    return f"{one['short']}: {one['numbers']} numbers"
