"""What lesson 1 compares a run with: wrong twins, other cuts of the prompt, other sums.

Plain records; ``compare`` in ``model.toy.compare`` fills them by running the toy.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from model.toy.trace import Run


@dataclass(frozen=True)
class Cut:
    """One way of feeding a prompt, and how far its rows are from the step-by-step cache."""

    name: str
    chunks: tuple[int, ...]
    max_abs_diff: float


@dataclass(frozen=True)
class Comparisons:
    """The same words fed throughout, so that every number has a partner in the trace."""

    bidirectional: Run  # naive, every position reading every other
    first_place: Run  # cached, every word fed as if at place 0
    cuts: tuple[Cut, ...]
    blas_gap: Float[np.ndarray, " steps"]  # largest logit difference a step, BLAS summing
