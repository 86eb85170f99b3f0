"""What the lab says of a bug, and what is left of a run: plain records, no tensors."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, NamedTuple

from torch import Tensor

EXACT = 1e-11
"""Above this a float64 logit is wrong, not rounded."""


Number = int | float | str


class Gauge(NamedTuple):
    """A number that tells right from wrong where the text may not: rows, bytes, a rate."""

    name: str
    value: Number


class Observed(NamedTuple):
    """One run of a bench: what the logits ought to be, what they were, and the gauges.

    expected, found: [steps vocab], one row a step; a row of NaN where nothing came out. They
    are probabilities where the bug compares those.
    words: how token ids are shown. fed: what each step read last. written: a whole text, if
    the bench writes one.
    """

    expected: Tensor
    found: Tensor
    words: tuple[str, ...]
    fed: tuple[str, ...]
    gauges: tuple[Gauge, ...] = ()
    written: str = ""


Bench = Callable[[Any], Observed]
"""Runs with the piece it is given, the right one or the twin, in one and the same seam."""


@dataclass(frozen=True, kw_only=True)
class Bug:
    """One switch of the lab.

    right, twin: "module:qualname" of what goes into the seam; `method` names the part of
    `right` worth reading beside the twin. seam: the argument the bench and the law have for it.
    source: a public report, "owner/repo#number". step: the lesson step it belongs to.
    caught_by: the test that fails with the twin. compared: what the bench returns.
    tolerance: how far the right piece may be off.
    """

    id: str
    title: str
    story: str
    source: str
    step: str
    fix: str
    right: str
    twin: str
    method: str = ""
    seam: str
    bench: Bench
    caught_by: str
    compared: Literal["logits", "probabilities"] = "logits"
    tolerance: float = EXACT

    @property
    def right_shown(self) -> str:
        return f"{self.right}.{self.method}" if self.method else self.right


def load(reference: str) -> Any:
    """Find what "module:qualname" names."""
    module, _, qualname = reference.partition(":")
    return reduce(getattr, qualname.split("."), importlib.import_module(module))


@dataclass(frozen=True, kw_only=True)
class StepSeen:
    """One step, right and wrong: the likeliest token of each, and how far the logits are apart.

    wrong and difference are None where the wrong run produced nothing at all. bad: further
    apart than the bug's tolerance, or nothing. without: the difference with the right piece.
    """

    fed: str
    right: str
    wrong: str | None
    difference: float | None
    without: float
    bad: bool


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A gauge of both runs."""

    name: str
    right: Number
    wrong: Number


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Everything the lab shows of one bug. Its first step reads the prompt, later ones one token.

    first_bad_step: its index in steps, None where no logit ever shows it. without: the largest
    difference of the same bench with the right piece.
    """

    id: str
    steps: tuple[StepSeen, ...]
    first_bad_step: int | None
    largest: float | None
    without: float
    n_wrong: int
    readings: tuple[Reading, ...]
    written_right: str
    written_wrong: str
