"""What lesson 4 asks of the reader's run: its scores in blocks, and a word chosen again."""

import json
from collections.abc import Callable
from typing import Any

import torch

from figures.choosing import KNOBS, chosen
from figures.eviction import BUDGETS
from figures.online_softmax import states
from model.errors import BadInput
from model.serving.eviction_table import causal_rows, kept_by_rule
from model.toy.trace import Trace

MAX_CHARS = 2_000
MAX_CHOICE_CHARS = 6 * MAX_CHARS + 300  # JSON may write a character as six
WANTED = f"a choice is asked as JSON with text, t, {', '.join(KNOBS)}"
# Temperature, top-p and min-p in hundredths.
LIMITS = {
    "temperature": (0, 10_000),
    "top_k": (0, 1_000_000),
    "top_p": (0, 100),
    "min_p": (0, 100),
    "seed": (0, 1_000_000),
}


def online(trace: Trace) -> dict[str, Any]:
    """The last word's scores and the values under them, per layer and head, in blocks."""
    last = [layer.attention for layer in trace.cached.steps[-1].layers]
    heads = range(last[0].scores.shape[0])
    return {
        "text": trace.reading.text,
        "online": [[states(a.scores[head, -1], a.v[head]) for head in heads] for a in last],
    }


def kept(trace: Trace) -> dict[str, Any]:
    """What rules of eviction keep of the rows of each layer and head."""
    steps, last = trace.cached.steps, trace.cached.steps[-1].layers
    heads = range(last[0].attention.weights.shape[0])

    def of_head(layer: int, head: int) -> dict[str, Any]:
        rows = [torch.tensor(s.layers[layer].attention.weights[head, -1]) for s in steps]
        return kept_by_rule(causal_rows(rows), BUDGETS)

    return {
        "text": trace.reading.text,
        "kept": [[of_head(layer, head) for head in heads] for layer in range(len(last))],
    }


def choice(asked: str, trace_of: Callable[[str], Trace]) -> dict[str, Any]:
    """Choose a word again as the figure's controls say: JSON of the text, a step and knobs.

    Raises
    ------
    BadInput
        The question is not JSON of that form.
    """
    knobs = _read(asked)
    trace = trace_of(str(knobs["text"])[:MAX_CHARS])
    t = min(max(_whole(knobs, "t"), 0), len(trace.cached.steps) - 1)
    return chosen(trace, {"t": t, **{name: _within(knobs, name) for name in KNOBS}})


def _read(asked: str) -> dict[str, Any]:
    try:
        knobs = json.loads(asked)
    except (ValueError, RecursionError) as error:
        raise BadInput(WANTED) from error
    if not isinstance(knobs, dict) or not {"text", "t", *KNOBS} <= knobs.keys():
        raise BadInput(WANTED)
    return knobs


def _whole(knobs: dict[str, Any], name: str) -> int:
    value = knobs[name]
    if type(value) is not int:
        raise BadInput(f"{name} is {str(value)[:20]!r}: it must be a whole number")
    return value


def _within(knobs: dict[str, Any], name: str) -> int:
    low, high = LIMITS[name]
    return min(max(_whole(knobs, name), low), high)
