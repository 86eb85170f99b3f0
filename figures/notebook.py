"""A figure as one piece of HTML that needs nothing else: for notebooks and slides.

Each figure is a frame of its own, so that many of them in one notebook share no names, and
holds its scripts, styles and numbers, so that nothing is fetched.
"""

import html
import json
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import bokeh
from bokeh.embed import json_item

import figures
from figures.base import Figure, schema
from figures.recording import payload
from figures.weights import projections

STATIC = Path(__file__).resolve().parents[1] / "static"
STYLES = ("tokens", "page", "figures", "alone")
BEFORE = ("kit", "ask", "run", "tips", "save", "chart", "walk", "stage")
BOKEH = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"


def embed(figure: Figure) -> str:
    """The figure of ``figure.recording`` in its present state, scripts and styles included.

    Raises
    ------
    ValueError
        The figure was made without a recording.
    """
    if figure.recording is None:
        kind = type(figure).__name__
        raise ValueError(f"{kind} has no recording: write {kind}(record('a sentence'))")
    name = next(key for key, cls in figures.FIGURES.items() if cls is type(figure))
    plot = figure.plot()
    data = {
        "spec": _spec(figure, name, plot),
        "params": figure.state(),
        "run": payload(figure.recording, len(figure.recording.reading.tokens)),
        "weights": projections(),
    }
    page = _template("alone").substitute(
        title=html.escape(figure.title),
        styles=_styles(),
        data=json.dumps(data).replace("<", "\\u003c"),
        scripts=_scripts(name, with_charts=plot is not None),
    )
    frame = _template("alone_frame")
    return frame.substitute(page=html.escape(page), title=html.escape(figure.title))


def _spec(figure: Figure, name: str, plot: Any) -> dict[str, Any]:
    return {
        "name": name,
        "title": figure.title,
        "description": figure.description,
        "params": schema(type(figure)),
        "data": figure.data(),
        "plot": json_item(plot) if plot is not None else None,
        "sources": [],
    }


@cache
def _template(name: str) -> Template:
    return Template(_read(STATIC / "templates" / f"{name}.html"))


@cache
def _styles() -> str:
    """All styles but the fonts', which would have to be fetched."""
    lines = "\n".join(_read(STATIC / "css" / f"{part}.css") for part in STYLES).splitlines()
    return "\n".join(line for line in lines if not line.startswith("@font-face"))


def _scripts(name: str, *, with_charts: bool) -> str:
    js = STATIC / "js"
    parts = [*([BOKEH] if with_charts else []), *(js / f"{part}.js" for part in BEFORE)]
    # Scripts written without semicolons: one between them, or the next would be called.
    return "\n;\n".join(map(_read, [*parts, STATIC / "figures" / f"{name}.js", js / "alone.js"]))


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
