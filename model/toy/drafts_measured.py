"""What drafts were worth over many sentences: the settings the page offers, and what was found.

`python -m model.toy.measure_drafts` writes the file; this reads it, without torch.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

SMALLER, COUNTED = "smaller", "ngram"
TEMPERATURES = {"greedy": 0.0, "sampled": 2.0}
DRAFTS = (1, 2, 3, 4)
MEASURED = Path(__file__).with_name("drafts_measured.json")


def settings() -> dict[str, tuple[str, str, int]]:
    """Every drafter, way of choosing and number of drafts, by the name of the three."""
    return {
        f"{name}/{writing}/{n}": (name, writing, n)
        for name in (SMALLER, COUNTED)
        for writing in TEMPERATURES
        for n in DRAFTS
    }


@cache
def measured() -> dict[str, Any]:
    """Read the shipped measurement."""
    return json.loads(MEASURED.read_text())
