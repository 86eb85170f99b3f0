"""How a decode step's time grows with the context, measured on a real model."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import param
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FixedTicker,
    HoverTool,
    Legend,
    NumeralTickFormatter,
)
from bokeh.plotting import figure

from figures.base import Figure
from figures.charts import chart
from model.costs import Formats, decode_step
from model.work_of import work_of

FILE = Path(__file__).resolve().parents[1] / "content" / "measurements" / "smollm2-growth.json"
ROOM = 0.15  # of the span, left free round the curves
MS = tuple(step * 10**power for power in range(4) for step in (1, 1.5, 2, 3, 5, 7))
LEGEND = {"padding": 2, "spacing": 8, "glyph_width": 18, "label_text_font_size": "11px"}
MODEL = "SmolLM2-135M"
SINGLE = Formats(weight_bytes=4.0, cache_bytes=4.0)  # the sweep runs in float32
BOUND = "at least"
STYLES = {
    "ours": ("#0b5fa5", "solid"),
    "transformers, DynamicCache": ("#a34700", "dashed"),
    "transformers, StaticCache": ("#00694f", "dotdash"),
    BOUND: ("#5a5c63", "dotted"),
}


@cache
def measured() -> dict[str, Any]:
    """What `kvscroll bench --sweep --json` wrote."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def batches() -> list[int]:
    return sorted({row["batch"] for row in measured()["rows"]})


class MeasuredGrowth(Figure):
    batch = param.Selector(
        default=batches()[0],
        objects={str(n): n for n in batches()},
        label="Sequences at once",
        doc="How many sequences every step decodes.",
    )

    title = "A step's time, by context"
    description = (
        "A curve for each engine: across, the tokens in every sequence's cache; up, the "
        "milliseconds a step took, both on logarithmic axes that fit what is "
        "shown; below them the least that reading the bytes takes. Below, when and where it "
        "was measured."
    )
    sources = (
        "model.engine.sweep:sweep",
        "model.engine.sweep:measure_cell",
        "model.costs:decode_step",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Curves by batch and path, and the circumstances."""
        found = measured()
        kept = ("date", "command", "model", "device", "processor", "threads", "skipped")
        return {
            **{name: found[name] for name in kept},
            "curves": {str(n): {path: curve(n, path) for path in STYLES} for n in batches()},
        }

    @classmethod
    def plot(cls) -> figure:
        """The chart; the browser fills the sources, named after the paths."""
        plane = chart(
            "tokens in each sequence's cache",
            "ms a step",
            x_range=DataRange1d(range_padding=ROOM),
            y_range=DataRange1d(range_padding=ROOM),
        )
        plane.add_layout(Legend(orientation="horizontal", **LEGEND), "above")
        drawn = []
        for path, (colour, dash) in STYLES.items():
            first = curve(batches()[0], path)
            source = ColumnDataSource({**first, "path": [path] * len(first["x"])}, name=path)
            style = {"color": colour, "source": source, "legend_label": path.split(", ")[-1]}
            plane.line("x", "y", line_dash=dash, line_width=2, **style)
            drawn.append(plane.scatter("x", "y", size=8, **style))
        tips = [("", "@path"), ("tokens", "@x{0,0}"), ("ms", "@y{0.0}")]
        plane.add_tools(HoverTool(renderers=drawn, tooltips=tips))
        plane.axis.formatter = NumeralTickFormatter(format="0,0")
        contexts = {row["context"] for row in measured()["rows"]}
        plane.xaxis.ticker = FixedTicker(ticks=sorted(contexts))
        plane.yaxis.ticker = FixedTicker(ticks=MS)
        return plane


def least_ms(batch: int, context: int) -> float:
    """Milliseconds that the bytes of a step take at the bandwidth measured beside it."""
    step = decode_step(work_of(MODEL), batch, context, SINGLE)
    return 1e3 * step.nbytes / measured()["measured_bytes_per_s"]


def curve(batch: int, path: str) -> dict[str, list[float]]:
    """Contexts and milliseconds of one path, or of the bound at the contexts that ran."""
    if path == BOUND:
        ran = sorted({row["context"] for row in measured()["rows"] if row["batch"] == batch})
        return {"x": ran, "y": [least_ms(batch, context) for context in ran]}
    rows = [row for row in measured()["rows"] if (row["batch"], row["path"]) == (batch, path)]
    return {
        "x": [row["context"] for row in rows],
        "y": [row["decode_ms_per_token"] for row in rows],
    }
