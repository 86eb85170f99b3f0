"""A row of scores read in blocks of every size, beside its direct softmax: plain data."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from model.attention.online_record import BlockStep, record_blocks


def record_row(scores: np.ndarray, values: np.ndarray, sizes: Iterable[int]) -> dict[str, Any]:
    """States after each block for every block size, the direct result, and the largest gap.

    ``scores`` [seen] may hold -inf for hidden keys; it is written as None. ``values`` [seen, d].
    """
    row, rows = torch.from_numpy(np.array(scores)), torch.from_numpy(np.array(values))
    direct = torch.softmax(row, dim=-1) @ rows
    made = {size: record_blocks(row, rows, size) for size in sizes}
    gaps = [np.abs(steps[-1].output - direct.numpy()).max() for steps in made.values()]
    return {
        "scores": _numbers(row.tolist()),
        "values": rows.tolist(),
        "direct": direct.tolist(),
        "gap": float(max(gaps)),
        "blocks": {str(size): [_step(step) for step in steps] for size, steps in made.items()},
    }


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values]


def _step(step: BlockStep) -> dict[str, Any]:
    return {
        "first": step.first_key,
        "n": len(step.scores),
        "weights": step.weights.tolist(),
        "rescale": step.rescale,
        "m": _numbers([step.maximum])[0],
        "l": step.total,
        "o": step.mix.tolist(),
        "output": step.output.tolist(),
    }
