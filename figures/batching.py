"""Step time as the batch grows: weights are read once for all, caches once for each."""

from typing import Any

import param
from bokeh.models import ColumnDataSource, NumeralTickFormatter
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from figures.serving_costs import BATCHES, CONTEXTS, MODELS, table
from model.hardware import CHIPS


class Batching(Figure):
    chip = param.Selector(
        default="h100",
        objects={chip.name: key for key, chip in CHIPS.items()},
        label="Chip",
        doc="Whose bandwidth and rate.",
    )
    model = param.Selector(
        default=0,
        objects={name: i for i, name in enumerate(MODELS)},
        label="Model",
        doc="Whose weights and cache.",
    )
    context = param.Integer(
        default=3, bounds=(0, len(CONTEXTS) - 1), label="Context", doc="Tokens in each cache."
    )

    title = "A step, as the batch grows"
    description = (
        "Two curves over the number of sequences: the least time a decode step takes, and that "
        "time if the caches were free. They part where the caches outweigh the weights."
    )
    sources = ("model.costs:decode_step", "model.costs:throughput_limit")

    @classmethod
    def data(cls) -> dict[str, Any]:
        return table()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"context": CONTEXTS}

    @classmethod
    def plot(cls) -> figure:
        """Curves called step and short: the chosen context, and the shortest one."""
        drawn = chart(
            "sequences in the batch",
            "milliseconds a step",
            told=[("sequences", "@x"), ("ms", "@y{0.00}")],
        )
        for name, colour, dash, label in (
            ("step", "#0b5fa5", "solid", "at this context"),
            ("short", "#5a5c63", "dashed", f"at {CONTEXTS[0]} tokens"),
        ):
            source = ColumnDataSource({"x": BATCHES, "y": [float(b) for b in BATCHES]}, name=name)
            drawn.line(
                "x",
                "y",
                source=source,
                color=colour,
                line_dash=dash,
                line_width=3,
                legend_label=label,
            )
            drawn.scatter("x", "y", source=source, color=colour, size=7)
        drawn.legend.location = "top_left"
        drawn.axis.formatter = NumeralTickFormatter(format="0,0.[00]")
        return drawn
