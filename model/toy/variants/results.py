"""What training the variants left: weights of the middle seed, and how right every seed is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).with_name("weights")


def weights_path(name: str, folder: Path = FOLDER) -> Path:
    return folder / f"{name}.json"


def result_path(name: str, folder: Path = FOLDER) -> Path:
    return folder / f"{name}.result.json"


def middle(values: Sequence[float]) -> int:
    """Index of the median of an odd number of values; among equals the first.

    >>> middle([0.3, 0.9, 0.5])
    2
    """
    return sorted(range(len(values)), key=values.__getitem__)[len(values) // 2]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Exact match of each seed on test sentences no seed, size or step count was chosen by."""

    steps: int
    seeds: tuple[int, ...]
    sentences: int
    grammar: tuple[float, ...]
    unknown: tuple[float, ...]
    kept_seed: int
    checksum: str
    weights: int
    seconds: int
    command: str

    @property
    def median(self) -> float:
        return median(self.grammar)

    @property
    def spread(self) -> float:
        """Between the best and the worst seed."""
        return max(self.grammar) - min(self.grammar)


@cache
def result(name: str, folder: Path = FOLDER) -> Result:
    """Read one variant's results."""
    found = json.loads(result_path(name, folder).read_text())
    exact = found["exact"]
    same = ("steps", "sentences", "kept_seed", "checksum", "weights", "seconds", "command")
    return Result(
        seeds=tuple(found["seeds"]),
        grammar=tuple(one["grammar"] for one in exact),
        unknown=tuple(one["unknown"] for one in exact),
        **{name: found[name] for name in same},
    )
