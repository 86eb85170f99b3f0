"""What a benchmark found as one HTML file that needs no network: bars, or lines over contexts."""

from itertools import cycle
from pathlib import Path
from typing import Any

from bokeh.embed import components
from bokeh.models import ColumnDataSource, DataRange1d, FactorRange, HoverTool
from bokeh.palettes import Colorblind8
from bokeh.plotting import figure

from app import prose
from app.paths import BOKEH_SCRIPT
from model.errors import BadInput

DASHES = {1: "solid", 4: "dashed", 16: "dotted"}


def check(path: str) -> None:
    """Refuse a file that could not be written, before hours are spent on measuring."""
    if not path.endswith((".html", ".htm")):
        raise BadInput(f"--plot {path}: the plot is an HTML file, give a name ending in .html")
    if not Path(path).resolve().parent.is_dir():
        raise BadInput(f"--plot {path}: there is no folder {Path(path).resolve().parent}")


def write(answer: dict[str, Any], path: str) -> None:
    """Draw an answer of the bench into a file. Raises BadInput if nothing was measured."""
    if not answer["rows"]:
        raise BadInput("nothing fitted into memory, so there are 0 rows to draw: sweep to less")
    drawn = lines(answer) if "context" in answer["rows"][0] else bars(answer)
    script, chart = components(drawn)
    page = prose.TEMPLATES.get_template("bench_plot.html").render(
        title=f"{answer['model']}, {answer['date']}",
        bokeh=BOKEH_SCRIPT.read_text(encoding="utf-8"),
        script=script,
        chart=chart,
    )
    Path(path).write_text(page, encoding="utf-8")


def heading(answer: dict[str, Any]) -> str:
    """State what the numbers hold for."""
    n_threads = answer["threads"]
    threads = f"{n_threads} thread{'' if n_threads == 1 else 's'}"
    where = f"{answer['device']}, {answer['processor']}, {threads}"
    return f"{answer['model']} on {answer['date']}: {where}"


def bars(answer: dict[str, Any]) -> figure:
    """One bar a path: milliseconds per token."""
    names = [f"{row['path']}, {row['dtype']}" for row in answer["rows"]]
    chart = figure(
        title=heading(answer),
        y_range=FactorRange(factors=names[::-1]),
        x_range=DataRange1d(start=0),
        x_axis_label="milliseconds per token",
        height=60 + 28 * len(names),
        width=900,
        toolbar_location=None,
        tools="",
    )
    ms = [row["decode_ms_per_token"] for row in answer["rows"]]
    source = ColumnDataSource({"name": names, "ms": ms})
    chart.hbar(y="name", right="ms", height=0.7, source=source, color=Colorblind8[0])
    chart.add_tools(HoverTool(tooltips=[("", "@name"), ("ms", "@ms{0.0}")]))
    return chart


def lines(answer: dict[str, Any]) -> figure:
    """One line a path and batch: milliseconds per step over the context, both axes logarithmic."""
    chart = figure(
        title=heading(answer),
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="tokens in the cache",
        y_axis_label="milliseconds per step",
        height=560,
        width=900,
        toolbar_location=None,
        tools="",
    )
    series: dict[tuple[str, str, int], list[tuple[int, float]]] = {}
    for row in answer["rows"]:
        point = (row["context"], row["decode_ms_per_token"])
        series.setdefault((row["path"], row["dtype"], row["batch"]), []).append(point)
    kinds = dict.fromkeys(key[:2] for key in series)
    colours = dict(zip(kinds, cycle(Colorblind8), strict=False))
    for (path, dtype, batch), points in series.items():
        x, y = zip(*points, strict=True)
        label = f"{path}, {dtype}, batch {batch}"
        source = ColumnDataSource({"x": x, "y": y, "label": [label] * len(x)})
        style = {"color": colours[path, dtype], "source": source, "legend_label": label}
        chart.line("x", "y", line_dash=DASHES.get(batch, "dotdash"), line_width=2, **style)
        chart.scatter("x", "y", size=6, **style)
    chart.add_tools(HoverTool(tooltips=[("", "@label"), ("tokens", "@x"), ("ms", "@y{0.0}")]))
    chart.add_layout(chart.legend[0], "right")
    chart.legend.click_policy = "hide"
    return chart
