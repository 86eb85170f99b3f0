"""What measured rows of small caches say about the lessons' claims: a number, a bound, a verdict.

How much the first token matters depends on the kind of text, so programs and prose are judged
apart, each text's own number beside the pooled one; nothing here chooses among texts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

SLOTS = 64
SINK_RATIO = {"programs": 3.0, "prose": 2.0}
"""Least harm of losing the first token, by kind of text, for a model of SmolLM2's size."""
INT8_CHANGE = 0.005
RANKING = ("int8", "fp8-e4m3", "fp4", "mxfp4")
"""Formats from the finest to the coarsest; their mean divergence must rise in this order."""


def claims(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Judge rows of `kvscroll bench --quality`: claim, value, bound, holds, and each text's value.

    rows: text, text_kind, slots, sinks, k_format, v_format, n_scored, perplexity, ratio, kl.
    """
    texts = list(dict.fromkeys(row["text"] for row in rows))
    return [
        *(first_token([row for row in rows if row["text_kind"] == k], k) for k in SINK_RATIO),
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


def first_token(rows: Sequence[Row], kind: str) -> dict[str, Any]:
    """Judge what losing the first token alone does to texts of one kind."""
    least = SINK_RATIO[kind]
    texts = dict.fromkeys(row["text"] for row in rows)
    return told(
        f"{SLOTS} rows without the first token, on {kind}: times the perplexity with it",
        pooled_ratio(rows),
        f"at least {least:g}",
        lambda ratio: ratio >= least,
        {text: pooled_ratio([row for row in rows if row["text"] == text]) for text in texts},
    )


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
