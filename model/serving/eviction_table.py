"""What two rules of dropping keys keep of recorded attention, budget by budget: plain data."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.serving.eviction import heavy_hitters, observed_by_the_end

RECENT = 2  # newest keys H2O keeps whatever their weight; observers of SnapKV


def kept_by_rule(weights: Float[Tensor, "queries seen"], budgets: Sequence[int]) -> dict[str, Any]:
    """Kept keys by rule and budget, and the share of the last query's weight they hold.

    weights: one head's attention rows, zero above the diagonal. received: what each key got
    from all queries, the score of H2O; observed: what the last queries gave it.
    """
    observers = weights[-RECENT:]
    made: dict[str, Any] = {"h2o": {}, "snapkv": {}}
    for budget in budgets:
        found = {
            "h2o": heavy_hitters(weights, heavy=budget - RECENT, recent=RECENT),
            "snapkv": observed_by_the_end(observers, capacity=budget, kernel=3),
        }
        for rule, ids in found.items():
            made[rule][str(budget)] = {"ids": ids.tolist(), "share": _share(weights, ids)}
    return {
        **made,
        "received": weights.sum(dim=0).tolist(),
        "observed": observers.sum(dim=0).tolist(),
        "last": weights[-1].tolist(),
    }


def _share(weights: Float[Tensor, "queries seen"], kept: Int[Tensor, " kept"]) -> float:
    return float(weights[-1][kept].sum())


def causal_rows(rows: Sequence[Float[Tensor, " _"]]) -> Float[Tensor, "queries seen"]:
    """Set attention rows of growing length under each other, zeros where nothing was seen."""
    square = torch.zeros(len(rows), len(rows[-1]), dtype=torch.float64)
    for i, row in enumerate(rows):
        square[i, : len(row)] = row
    return square
