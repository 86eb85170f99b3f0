"""List the bugs of the lab: what each is, the first bad step, and the test that catches it."""

import argparse
import json
from typing import Any

import torch

from model.bugs.catalogue import BUGS
from model.bugs.run import run_bug


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON alone")


def run(args: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    bugs = [overview(name) for name in BUGS]
    print(json.dumps({"bugs": bugs}, allow_nan=False) if args.json else table(bugs))
    return 0


def overview(name: str) -> dict[str, Any]:
    """Run a bug and tell it. A first bad step of null: no logit ever shows it, a number does."""
    bug, outcome = BUGS[name], run_bug(name)
    return {
        "id": bug.id,
        "title": bug.title,
        "source": bug.source,
        "first_bad_step": outcome.first_bad_step,
        "largest_difference": outcome.largest,
        "largest_difference_without": outcome.without,
        "readings": [vars(reading) for reading in outcome.readings],
        "right": bug.right,
        "twin": bug.twin,
        "caught_by": bug.caught_by,
    }


def table(bugs: list[dict[str, Any]]) -> str:
    """One line a bug; step 1 reads the prompt, a dash says that the logits never show it."""
    head = f"{'bug':24}{'bad from step':>14}{'largest difference':>20}   source"
    return "\n".join([head, *map(line, bugs)])


def line(bug: dict[str, Any]) -> str:
    step, largest = bug["first_bad_step"], bug["largest_difference"]
    shown = "-" if step is None else str(step + 1)
    return f"{bug['id']:24}{shown:>14}{largest:20.2g}   {bug['source']}"
