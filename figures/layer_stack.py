"""Layers of different reach: what each layer's cache holds as the context grows."""

from functools import cache
from typing import Any

import param

from figures.base import Figure
from model.sizing import catalogue
from model.sizing.alternatives import without_windows
from model.sizing.question import Question
from model.sizing.size import size, total_bytes

STACKS = {
    "Mistral 7B": "Mistral 7B v0.1",
    "Gemma 2 9B": "Gemma 2 9B",
    "Gemma 3 27B": "Gemma 3 27B",
    "gpt-oss 120B": "gpt-oss-120b",
}
TOKENS = tuple(2**i for i in range(6, 18))


class LayerStack(Figure):
    model = param.Selector(
        default="Gemma 3 27B",
        objects={name: name for name in STACKS},
        label="Model",
        doc="Whose stack of layers is shown.",
    )
    tokens = param.Integer(
        default=9, bounds=(0, len(TOKENS) - 1), label="Context", doc="Tokens in the sequence."
    )

    title = "A stack of layers and each one's cache"
    description = (
        "One bar a layer, as high as its cache. Windowed layers stop growing at their window; "
        "global layers go on."
    )
    sources = ("model.stacks:rows_kept",)

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Bytes of each layer at each context, from the calculator; and without windows."""
        return stacks()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}


@cache
def stacks() -> dict[str, Any]:
    return {"tokens": TOKENS, "models": {name: _stack(entry) for name, entry in STACKS.items()}}


def _stack(name: str) -> dict[str, Any]:
    model = catalogue.load(name)
    answers = [size(model, Question(tokens=n)) for n in TOKENS]
    return {
        "windows": [layer.window for layer in answers[0].layers],
        "bytes": [[layer.n_bytes for layer in answer.layers] for answer in answers],
        "without": [total_bytes(without_windows(model), Question(tokens=n)) for n in TOKENS],
        "most": model.max_tokens,
    }
