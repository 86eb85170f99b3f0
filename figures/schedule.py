"""Requests in slots over steps: a batch that waits for its slowest, and one that refills."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import param

from figures.base import Figure
from model.serving.batching import continuous_batching, static_batching
from model.serving.scheduling import Limits, Request, Timeline

SLOTS, STEP_TOKENS, CACHE_ROWS = 4, 6, 28
Batching = Callable[[Sequence[Request]], Timeline]


def answers(*lengths: int) -> tuple[Request, ...]:
    return tuple(Request(name=f"R{i + 1}", output=n) for i, n in enumerate(lengths))


WORKLOADS: dict[str, tuple[Request, ...]] = {
    "eight answers": answers(8, 2, 3, 7, 4, 1, 6, 5),
    "one long in four": answers(*(16, 1, 1, 1) * 4),
    "a long prompt": (
        Request(name="R1", output=12),
        Request(name="R2", output=10),
        Request(name="R3", output=3, prompt=20, arrival=2),
        Request(name="R4", output=6, prompt=5, arrival=3),
        Request(name="R5", output=4, prompt=4, arrival=5),
    ),
}
POLICIES: dict[str, Batching] = {
    "static": partial(static_batching, limits=Limits(slots=SLOTS)),
    "continuous": partial(continuous_batching, limits=Limits(slots=SLOTS)),
    "chunks": partial(continuous_batching, limits=Limits(slots=SLOTS, step_tokens=STEP_TOKENS)),
    "small": partial(continuous_batching, limits=Limits(slots=SLOTS, cache_tokens=CACHE_ROWS)),
}


class Schedule(Figure):
    workload = param.Selector(
        default="eight answers",
        objects={name: name for name in WORKLOADS},
        label="Requests",
        doc="How many tokens each request brings and wants.",
    )
    policy = param.Selector(
        default="static",
        objects={
            "static": "static",
            "continuous": "continuous",
            f"at most {STEP_TOKENS} tokens a step": "chunks",
            f"a cache of {CACHE_ROWS} rows": "small",
        },
        label="Batching",
        doc=(
            "Whether a free slot waits for the whole batch or takes the next request at once; "
            "continuous batching also with prompts in chunks, or with little memory."
        ),
    )

    title = "Four slots over time"
    description = (
        "One row a slot, one column a step. A coloured cell is a token written for a request; "
        "an empty one is a slot that waits. Below, how many tokens each step feeds."
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
        f"{name}/{policy}": _told(run(requests))
        for name, requests in WORKLOADS.items()
        for policy, run in POLICIES.items()
    }


def _told(found: Timeline) -> dict[str, Any]:
    return {
        "slots": found.slots,
        "steps": found.n_steps,
        "busy": found.busy,
        "mean": found.mean_completion,
        "cells": [cell._asdict() for cell in found.cells],
        "fed": found.fed(),
        "preempted": [{"step": step, "request": name} for step, name in found.preemptions],
        "finish": found.finish,
    }
