"""Step time as the batch grows: weights are read once for all, caches once for each."""

from typing import Any

import param
from bokeh.models import ColumnDataSource, FixedTicker, NumeralTickFormatter
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart, compact
from figures.serving_costs import BATCHES, CONTEXTS, MODELS, table
from model.hardware import CHIPS

MS = tuple(step * 10.0**power for power in range(-3, 5) for step in (1, 2, 5))


class Batching(Figure):
    chip = param.Selector(
        default="h100",
        objects={chip.name: key for key, chip in CHIPS.items() if chip.nbytes},
        label="Chip",
        doc="Whose bandwidth, rate and memory.",
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
        "time if the caches were short. They part where the caches outweigh the weights, and are "
        "dotted where the memory is full."
    )
    sources = (
        "model.costs:decode_step",
        "model.costs:throughput_limit",
        "model.costs:sequences_that_fit",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        return table()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"context": CONTEXTS}

    @classmethod
    def plot(cls) -> figure:
        """Draw the chosen context and the shortest; sources are step and short, full and frame.

        What does not fit in memory is in step-over and short-over; full is the last that does.
        """
        drawn = chart(
            "sequences in the batch",
            "ms a step",
            told=[("sequences", "@x"), ("ms", "@y{0.00}")],
        )
        for name, colour, dash, label in (
            ("step", "#0b5fa5", "solid", "at this context"),
            ("short", "#5a5c63", "dashed", f"at {CONTEXTS[0]} tokens"),
        ):
            first = [float(batch) for batch in BATCHES]  # a logarithmic axis needs some numbers
            fits = ColumnDataSource({"x": BATCHES, "y": first}, name=name)
            over = ColumnDataSource({"x": [], "y": []}, name=f"{name}-over")
            style = {"color": colour, "line_width": 3, "legend_label": label}
            drawn.line("x", "y", source=fits, line_dash=dash, **style)
            drawn.line("x", "y", source=over, line_dash="dotted", line_alpha=0.8, **style)
            drawn.scatter("x", "y", source=fits, color=colour, size=7)
        full = ColumnDataSource({"x": [], "y": []}, name="full")
        drawn.line(
            "x", "y", source=full, color="#b3261e", line_width=2, legend_label="memory is full"
        )
        frame = ColumnDataSource({"x": [], "y": []}, name="frame")
        # Unseen: the axis spans ten times at least.
        drawn.scatter("x", "y", source=frame, size=0, color="#5a5c63")
        compact(drawn)
        drawn.yaxis.ticker = FixedTicker(ticks=MS)
        drawn.axis.formatter = NumeralTickFormatter(format="0,0.[00]")
        return drawn
