"""Cache bytes over context, one curve a model: the calculator's chart."""

from typing import Any

from bokeh.models import ColumnDataSource, NumeralTickFormatter
from bokeh.plotting import figure

from figures.charts import chart

COLOURS = ("#0b5fa5", "#a34700", "#00694f", "#7a3f9d", "#8a5a00")
DASHES = ("solid", "dashed", "dotdash", "dotted", "solid")
FIRST: dict[str, Any] = {"x": [128, 1_048_576], "y": [1, 1]}


def growth_plot() -> figure:
    """Five empty curves, named curve0 to curve4, on logarithmic axes; the page fills them."""
    drawn = chart(
        "tokens a sequence",
        "GiB",
        told=[("model", "$name"), ("tokens", "@x{0,0}"), ("GiB", "@y{0.000}")],
    )
    for number, (colour, dash) in enumerate(zip(COLOURS, DASHES, strict=True)):
        source = ColumnDataSource(
            FIRST if number == 0 else {"x": [], "y": []}, name=f"curve{number}"
        )
        drawn.line("x", "y", source=source, color=colour, line_dash=dash, line_width=3)
    here = ColumnDataSource({"x": [], "y": []}, name="here")
    drawn.scatter("x", "y", source=here, size=11, color="#b3261e")
    drawn.axis.formatter = NumeralTickFormatter(format="0,0.[000]")
    return drawn
