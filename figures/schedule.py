"""Requests in slots over steps: a batch that waits for its slowest, and one that refills."""

from functools import cache
from typing import Any

import param

from figures.base import Figure
from model.serving.batching import continuous_batching, static_batching
from model.serving.scheduling import Limits, Request

WORKLOADS = {
    "eight answers": (8, 2, 3, 7, 4, 1, 6, 5),
    "one long in four": (16, 1, 1, 1) * 4,
}
SLOTS = 4
POLICIES = {"static": static_batching, "continuous": continuous_batching}


class Schedule(Figure):
    workload = param.Selector(
        default="eight answers",
        objects={name: name for name in WORKLOADS},
        label="Requests",
        doc="How many tokens each request wants.",
    )
    policy = param.Selector(
        default="static",
        objects={name: name for name in POLICIES},
        label="Batching",
        doc="Whether a free slot waits for the whole batch or takes the next request at once.",
    )

    title = "Four slots over time"
    description = (
        "One row a slot, one column a step. A coloured cell is a token written for a request; "
        "an empty one is a slot that waits."
    )
    sources = (
        "model.serving.batching:static_batching",
        "model.serving.batching:continuous_batching",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        """The timeline of each workload under each policy."""
        return timelines()


@cache
def timelines() -> dict[str, Any]:
    return {
        f"{name}/{policy}": _timeline(lengths, run)
        for name, lengths in WORKLOADS.items()
        for policy, run in POLICIES.items()
    }


def _timeline(lengths: tuple[int, ...], run: Any) -> dict[str, Any]:
    requests = [Request(name=f"R{i + 1}", output=n) for i, n in enumerate(lengths)]
    found = run(requests, Limits(slots=SLOTS))
    return {
        "slots": found.slots,
        "steps": found.n_steps,
        "busy": found.busy,
        "mean": found.mean_completion,
        "cells": [cell._asdict() for cell in found.cells],
        "finish": found.finish,
    }
