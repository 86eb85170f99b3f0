"""Prefill and decode under a chip's roof: FLOPs per byte against FLOPs per second."""

from typing import Any

import param
from bokeh.models import ColumnDataSource, LabelSet, NumeralTickFormatter
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from figures.serving_costs import BATCHES, CONTEXTS, MODELS, table
from model.hardware import CHIPS

THIS_MACHINE = "this machine"
CHIP_NAMES = {chip.name: key for key, chip in CHIPS.items()} | {THIS_MACHINE: "machine"}


class Roofline(Figure):
    chip = param.Selector(
        default="h100", objects=CHIP_NAMES, label="Chip", doc="Whose bandwidth and rate."
    )
    model = param.Selector(
        default=0,
        objects={name: i for i, name in enumerate(MODELS)},
        label="Model",
        doc="Whose FLOPs and bytes.",
    )
    batch = param.Integer(
        default=0, bounds=(0, len(BATCHES) - 1), label="Sequences", doc="Sequences in a step."
    )
    context = param.Integer(
        default=2, bounds=(0, len(CONTEXTS) - 1), label="Context", doc="Tokens in each cache."
    )

    title = "The roofline"
    description = (
        "A roof that rises with FLOPs per byte until the chip's arithmetic rate, then stays flat; "
        "one mark for a decode step, far down the slope, and one for a prefill, on the flat."
    )
    sources = ("model.costs:decode_step", "model.costs:bound", "model.hardware:Chip.attainable")

    @classmethod
    def data(cls) -> dict[str, Any]:
        return table()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"batch": BATCHES, "context": CONTEXTS}

    @classmethod
    def plot(cls) -> figure:
        """The roof and two marks; sources are called roof, marks and ridge."""
        chip = table()["chips"]["h100"]
        drawn = chart(
            "FLOPs per byte",
            "TFLOP/s",
            told=[("FLOPs per byte", "@x{0,0.0}"), ("TFLOP/s", "@y{0,0.00}")],
        )
        roof = ColumnDataSource({"x": chip["intensity"], "y": chip["roof"]}, name="roof")
        ridge = ColumnDataSource(
            {"x": [chip["ridge"]] * 2, "y": [min(chip["roof"]), max(chip["roof"])]}, name="ridge"
        )
        marks = ColumnDataSource({"x": [], "y": [], "name": [], "colour": []}, name="marks")
        drawn.line("x", "y", source=roof, line_width=3, color="#5a5c63")
        drawn.line("x", "y", source=ridge, line_width=1, line_dash="dotted", color="#5a5c63")
        drawn.scatter("x", "y", source=marks, size=13, color="colour")
        labels = LabelSet(
            x="x",
            y="y",
            text="name",
            source=marks,
            x_offset=10,
            y_offset=-22,
            text_color="#5a5c63",
            text_font_size="13px",
        )
        drawn.add_layout(labels)
        drawn.axis.formatter = NumeralTickFormatter(format="0,0.[00]")
        return drawn
