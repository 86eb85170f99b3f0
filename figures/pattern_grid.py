"""Which keys a query may read, as a grid; which rows a cache must keep for it."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

N_MAX = 20
SIZES = tuple(range(1, 9))
SECONDS = tuple(range(1, 5))


class PatternGrid(Figure):
    pattern = param.Selector(
        default="causal",
        objects={
            "full": "full",
            "causal": "causal",
            "cross": "cross",
            "window": "window",
            "window and sinks": "window-sinks",
            "prefix": "prefix",
            "strided": "strided",
            "fixed": "fixed",
            "dilated": "dilated",
        },
        label="Pattern",
        doc="The rule that says which keys a query may read.",
    )
    n = param.Integer(default=12, bounds=(4, N_MAX), label="Tokens", doc="Length of the sequence.")
    size = param.Integer(
        default=4,
        bounds=(SIZES[0], SIZES[-1]),
        label="Size",
        doc="Window, stride, block, prefix or source length.",
    )
    second = param.Integer(
        default=1,
        bounds=(SECONDS[0], SECONDS[-1]),
        label="Second size",
        doc="Sinks, summary rows a block, or the gap of a dilated window.",
    )
    row = param.Integer(
        default=7,
        bounds=(0, N_MAX - 1),
        label="Query",
        doc="The query whose row is looked at, counted from 0.",
    )

    title = "Who may read what"
    description = (
        "A grid with queries down and keys across. Filled cells may be read. A strip below says "
        "which rows a cache must still hold after the chosen query, and which it may drop."
    )
    sources = ("model.patterns:window", "model.patterns:fixed", "model.masks:mask")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """For each pattern and sizes: the grid, the closed-form pairs, the rows still needed."""
        return tables()


@cache
def tables() -> dict[str, Any]:
    from model import masks, patterns  # noqa: PLC0415 -- loads torch

    made = {}
    for name, arguments in _families().items():
        for given in arguments:
            pattern = patterns.PATTERNS[name](*given)
            square = masks.square(pattern.may_read, N_MAX)
            made["/".join([name, *map(str, given)])] = {
                "reads": ["".join("01"[int(x)] for x in row) for row in square.tolist()],
                "pairs": [pattern.n_pairs(n) for n in range(1, N_MAX + 1)],
                "needed": [
                    "".join("01"[int(x)] for x in pattern.needed(n).tolist())
                    for n in range(1, N_MAX + 1)
                ],
            }
    return {"tables": made, "families": {name: len(a[0]) for name, a in _families().items()}}


def _families() -> dict[str, list[tuple[int, ...]]]:
    """The arguments each pattern takes: none, a size, or a size and a second one."""
    one = [(size,) for size in SIZES]
    two = [(size, second) for size in SIZES for second in SECONDS]
    return {
        "full": [()],
        "causal": [()],
        "cross": one,
        "window": one,
        "window-sinks": two,
        "prefix": one,
        "strided": one,
        "fixed": [(size, second) for size, second in two if second <= size],
        "dilated": two,
    }
