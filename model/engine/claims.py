"""What measured rows of small caches say about the lessons' claims: a number, a bound, a verdict.

The size of the effect depends on the text, so each text's own number stands beside the pooled
one; nothing here chooses among texts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

SLOTS = 64
SINK_RATIO = 3.0
INT8_CHANGE = 0.005
RANKING = ("int8", "fp8-e4m3", "fp4", "mxfp4")
"""Formats from the finest to the coarsest; their mean divergence must rise in this order."""


def claims(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Judge rows of `kvscroll bench --quality`: claim, value, bound, holds, and each text's value.

    rows: text, slots, sinks, k_format, v_format, n_scored, perplexity, ratio, kl.
    """
    texts = list(dict.fromkeys(row["text"] for row in rows))
    return [
        told(
            f"{SLOTS} rows without the first token: times the perplexity with it, all texts pooled",
            pooled_ratio(rows),
            f"at least {SINK_RATIO:g}",
            lambda ratio: ratio >= SINK_RATIO,
            {text: pooled_ratio([row for row in rows if row["text"] == text]) for text in texts},
        ),
        told(
            "int8 keys and values: largest change of the perplexity on any text",
            max(changes(rows).values()),
            f"at most {INT8_CHANGE:g}",
            lambda change: change <= INT8_CHANGE,
            changes(rows),
        ),
        told(
            f"formats ranked by divergence, {' < '.join(RANKING)}: texts that agree",
            sum(ranked(rows, text) for text in texts),
            f"all {len(texts)}",
            lambda agree: agree == len(texts),
            {text: ranked(rows, text) for text in texts},
        ),
    ]


def told(
    claim: str,
    value: float,
    bound: str,
    holds: Callable[[float], bool],
    by_text: Mapping[str, float],
) -> dict[str, Any]:
    """Lay one claim out for the table and the JSON."""
    return {
        "claim": claim,
        "value": value,
        "bound": bound,
        "holds": holds(value),
        "by_text": dict(by_text),
    }


def pooled_ratio(rows: Iterable[Row]) -> float:
    """Perplexity without the first token over that with it, every scored token counted once."""
    windows = [row for row in rows if row["slots"] == SLOTS]
    without, with_one = (
        mean_log([row for row in windows if row["sinks"] == sinks]) for sinks in (0, 1)
    )
    return math.exp(without - with_one)


def mean_log(rows: Sequence[Row], of: str = "perplexity") -> float:
    """Mean log-perplexity of several texts, weighted by their scored tokens."""
    total = sum(row["n_scored"] * math.log(row[of]) for row in rows)
    return total / sum(row["n_scored"] for row in rows)


def changes(rows: Iterable[Row]) -> dict[str, float]:
    """By text: how far int8 moves the perplexity of the whole cache, as a share of it."""
    int8 = [row for row in rows if row["k_format"] == row["v_format"] == "int8"]
    return {row["text"]: abs(row["ratio"] - 1) for row in int8}


def ranked(rows: Iterable[Row], text: str) -> bool:
    """Say whether coarser formats diverge more on a text."""
    kl = {
        row["k_format"]: row["kl"]
        for row in rows
        if row["text"] == text and row["k_format"] == row["v_format"] and row["slots"] is None
    }
    values = [kl[name] for name in RANKING]
    return values == sorted(values)
