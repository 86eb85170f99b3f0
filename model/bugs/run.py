"""Run a bench twice, with the right piece and with the wrong twin, and tell the difference."""

from functools import cache

import torch
from torch import Tensor

from model.bugs.bug import Bug, Observed, Outcome, Reading, StepSeen, load
from model.bugs.catalogue import BUGS


@cache
def run_bug(name: str) -> Outcome:
    """Switch one bug on. The same numbers every time: all seeds are fixed."""
    bug = BUGS[name]
    with torch.inference_mode():
        right, wrong = bug.bench(load(bug.right)), bug.bench(load(bug.twin))
    return compare(bug, right, wrong)


def compare(bug: Bug, right: Observed, wrong: Observed) -> Outcome:
    """Set the runs side by side, step by step."""
    gaps = (right.found - right.expected).abs().amax(dim=-1).tolist()
    rows = zip(wrong.fed, wrong.expected, wrong.found, gaps, strict=True)
    steps = tuple(step_seen(bug, wrong.words, *row) for row in rows)
    differences = [step.difference for step in steps if step.difference is not None]
    pairs = zip(right.gauges, wrong.gauges, strict=True)
    return Outcome(
        id=bug.id,
        steps=steps,
        first_bad_step=next((i for i, step in enumerate(steps) if step.bad), None),
        largest=max(differences, default=None),
        without=max(gaps),
        n_wrong=sum(step.right != step.wrong for step in steps),
        readings=tuple(Reading(name=a.name, right=a.value, wrong=b.value) for a, b in pairs),
        written_right=right.written,
        written_wrong=wrong.written,
    )


def step_seen(  # noqa: PLR0913, PLR0917 - one row of both runs
    bug: Bug, words: tuple[str, ...], fed: str, expected: Tensor, found: Tensor, without: float
) -> StepSeen:
    """Tell one step: the likeliest word of each run, and how far the logits are apart."""
    silent = bool(found.isnan().any())
    gap = None if silent else float((found - expected).abs().max())
    return StepSeen(
        fed=fed,
        right=words[int(expected.argmax())],
        wrong=None if silent else words[int(found.argmax())],
        difference=gap,
        without=without,
        bad=gap is None or gap > bug.tolerance,
    )
