"""Beam search written down step by step: what each beam became, and what its cache did.

The caches are paged; beside what they did stands what a gather of whole caches would copy.
"""

from collections.abc import Sequence
from math import exp
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.beam import BeamConfig, BeamStep, Hypothesis, OwnCaches, beam_search
from model.serving.paged import PagedCache

PENALTIES = (0, 1)
BEGINNING = Hypothesis((), 0.0)


class Watched:
    """Beams in a paged pool, and what became of their blocks at every step."""

    def __init__(self, beams: OwnCaches) -> None:
        self.beams = beams
        self.moves: list[dict[str, Any]] = []

    @property
    def caches(self) -> list[PagedCache]:
        return cast("list[PagedCache]", self.beams.caches)

    @property
    def tables(self) -> list[list[int]]:
        """The blocks of each beam, in order."""
        return [list(cache.table.blocks) for cache in self.caches]

    def start(self, prompt: Sequence[int]) -> Float[Tensor, "1 vocab"]:
        return self.beams.start(prompt)

    def reorder(self, rows: Int[Tensor, " beams"]) -> None:
        """Note the rows that a gather copies: all of every beam that goes on."""
        gathered = sum(self.caches[row].length for row in rows.tolist())
        self.beams.reorder(rows)
        self.moves.append({"gathered": gathered, "shared": self.tables})

    def step(self, tokens: Int[Tensor, " beams"]) -> Float[Tensor, "beams vocab"]:
        """Note whose last block was copied before its new row could be written."""
        logits = self.beams.step(tokens)
        move, blocks, size = self.moves[-1], self.tables, self.caches[0].pool.tables.block_size
        copied = [old != new[: len(old)] for old, new in zip(move["shared"], blocks, strict=True)]
        move |= {"blocks": blocks, "copied": copied, "copied_rows": size * sum(copied)}
        return logits


def record_beams(beams: OwnCaches, prompt: Sequence[int], config: BeamConfig) -> dict[str, Any]:
    """Search, and tell every step.

    steps: of each, the beams, first those that go on, in the order in which the next step
    counts them: token, the beam of the step before that it continues (`origin`), its total
    log-probability, what the token added to that (`gain`), its scores by length penalty, and
    whether it ended. move: what the caches then do, None where nothing is fed: the rows that a
    gather of whole caches copies (`gathered`), the block tables when only tables have changed
    hands (`shared`) and when the token is written (`blocks`), whose last block that copied, and
    the rows of these copies. ranked: by length penalty, best first.
    """
    watched = Watched(beams)
    with torch.inference_mode():
        found, steps = beam_search(watched, prompt, config)
    befores = [(BEGINNING,), *(step.live for step in steps)]
    moves = [*watched.moves, *[None] * (len(steps) - len(watched.moves))]
    return {
        "steps": [
            {"beams": _beams(before, step), "move": move}
            for before, step, move in zip(befores, steps, moves, strict=False)
        ],
        "ranked": {str(penalty): _ranked(found, penalty) for penalty in PENALTIES},
    }


def _beams(before: Sequence[Hypothesis], step: BeamStep) -> list[dict[str, Any]]:
    beginnings = [one.tokens for one in before]
    told = []
    for index, one in enumerate((*step.live, *step.finished)):
        origin = beginnings.index(one.tokens[:-1])
        told.append(
            {
                "token": one.tokens[-1],
                "origin": origin,
                "gain": one.log_probability - before[origin].log_probability,
                "ended": index >= len(step.live),
                **_scores(one),
            }
        )
    return told


def _ranked(found: Sequence[Hypothesis], penalty: float) -> list[dict[str, Any]]:
    best_first = sorted(found, key=lambda one: -one.score(penalty))
    return [{"tokens": list(one.tokens), **_scores(one)} for one in best_first]


def _scores(one: Hypothesis) -> dict[str, Any]:
    return {
        "total": one.log_probability,
        "probability": exp(one.log_probability),
        "scores": {str(penalty): one.score(penalty) for penalty in PENALTIES},
    }
