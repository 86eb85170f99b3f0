"""One bug of the lab, step by step: what should be said, what is said, how far apart they are."""

from dataclasses import asdict
from functools import cache
from typing import Any

import param

from figures.base import Figure

N_BUGS = 34


@cache
def outcomes() -> tuple[dict[str, Any], ...]:
    """Every bug, run once a process, as plain data in the order of the page."""
    from model.bugs.catalogue import BUGS  # noqa: PLC0415 -- loads torch
    from model.bugs.run import run_bug  # noqa: PLC0415

    return tuple(
        {
            **asdict(run_bug(name)),
            "title": bug.title,
            "tolerance": bug.tolerance,
            "compared": bug.compared,
        }
        for name, bug in BUGS.items()
    )


class BugTrace(Figure):
    bug = param.Integer(default=0, bounds=(0, N_BUGS - 1), label="Bug", doc="Which of the bugs.")
    on = param.Boolean(default=True, label="Bug on", doc="Switch the wrong part in or out.")

    title = "Right and wrong, step by step"
    description = (
        "One row a step: the word read, the word the model ought to say, the word it says, and a "
        "bar on a logarithmic scale for the largest difference of any logit, or of any "
        "probability where words are drawn. The first bad step is marked."
    )
    sources = ("model.bugs.run:run_bug", "model.bugs.run:step_seen")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """All outcomes."""
        return {"bugs": outcomes()}
