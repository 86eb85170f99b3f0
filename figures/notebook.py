"""A figure as one piece of HTML that needs nothing else: for notebooks and slides."""

import json
from functools import cache
from pathlib import Path
from string import Template

import figures
from figures.base import Figure, schema
from figures.recording import payload
from figures.weights import projections

STATIC = Path(__file__).resolve().parents[1] / "static"
PARTS = ("kit", "run", "tips", "save", "chart", "stage", "alone")


def embed(figure: Figure) -> str:
    """The figure of ``figure.recording`` in its present state, scripts and styles included."""
    name = next(key for key, cls in figures.FIGURES.items() if cls is type(figure))
    spec = {
        "name": name,
        "title": figure.title,
        "description": figure.description,
        "params": schema(type(figure)),
        "data": figure.data(),
        "plot": None,
        "sources": [],
    }
    shown = {
        "spec": spec,
        "params": figure.state(),
        "run": payload(figure.recording, len(figure.recording.reading.tokens)),
        "weights": projections(),
    }
    data = json.dumps(shown).replace("<", "\\u003c")
    return _frame().safe_substitute(data=data, figure_script=_read(f"figures/{name}.js"))


@cache
def _frame() -> Template:
    """The page around one figure, its fixed parts filled in."""
    template = Template(_read("templates/alone.html"))
    return Template(
        template.safe_substitute(
            styles="\n".join(_read(f"css/{part}.css") for part in ("tokens", "figures")),
            scripts="\n".join(_read(f"js/{part}.js") for part in PARTS),
        )
    )


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
