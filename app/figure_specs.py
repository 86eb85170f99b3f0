"""Figures as data for the browser: titles, params, and the source of the code behind each."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from bokeh.embed import json_item

from app.source import source_of
from figures import FIGURES
from figures.base import schema

FIGURE_SCRIPTS = ("kit", "ask", "run", "tips", "save", "chart", "fit", "walk", "stage")
PAGE_SCRIPTS = (
    "steps",
    "across",
    "questions",
    "sentence",
    "print",
    "links",
    "menus",
    "address",
    "page",
)


@cache
def spec(name: str) -> dict[str, Any]:
    figure = FIGURES[name]
    return {
        "name": name,
        "title": figure.title,
        "description": figure.description,
        "params": schema(figure),
        "data": figure.data(),
        "plot": json_item(plot) if (plot := figure.plot()) is not None else None,
        "sources": [source_of(reference) for reference in figure.sources],
    }


def specs(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    return {name: spec(name) for name in names}


def scripts(names: Iterable[str], *own: str) -> list[str]:
    """The scripts a page with these figures needs, kit first, page last."""
    drawing = [f"figures/{name}.js" for name in dict.fromkeys(names)]
    return [
        *(f"js/{part}.js" for part in FIGURE_SCRIPTS),
        *drawing,
        *(f"js/{part}.js" for part in own),
        *(f"js/{part}.js" for part in PAGE_SCRIPTS),
    ]
