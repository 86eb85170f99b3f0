"""Online softmax of one query, written down block by block for a figure."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from model.attention.online_softmax import absorb, blocks_of
from model.errors import BadInput

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class BlockStep:
    """One block absorbed: its keys, and the state (m, l, o) before and after.

    rescale: exp(m before - m after), what the older total and mix are multiplied by: 1 when
    the maximum stands, 0 when nothing had been seen. output is mix / total so far.
    """

    first_key: int
    scores: Array  # [block]
    values: Array  # [block d_value]
    weights: Array  # [block], exp(score - maximum)
    rescale: float
    maximum: float
    total: float
    mix: Array  # [d_value]
    output: Array  # [d_value]


def record_blocks(
    scores: Float[Tensor, " seen"], values: Float[Tensor, "seen d_value"], block_size: int
) -> tuple[BlockStep, ...]:
    """Record the states one query passes through; the last output is the attention output."""
    if scores.shape[0] == 0:
        message = "a recording needs at least 1 key, got 0"
        raise BadInput(message)
    row = scores.double()[None]
    blocks = list(blocks_of(row, values.double(), block_size))
    steps: list[BlockStep] = []
    before = -np.inf
    for (block, rows), state in zip(blocks, absorb(blocks), strict=True):
        maximum = float(state.maximum)
        shift = maximum if np.isfinite(maximum) else 0.0
        steps.append(
            BlockStep(
                first_key=len(steps) * block_size,
                scores=_frozen(block[0]),
                values=_frozen(rows),
                weights=_frozen((block[0] - shift).exp()),
                rescale=float(np.exp(before - shift)),
                maximum=maximum,
                total=float(state.total),
                mix=_frozen(state.mix[0]),
                output=_frozen(state.result()[0]),
            )
        )
        before = maximum
    return tuple(steps)


def _frozen(x: Float[Tensor, "*shape"]) -> Array:
    array = x.numpy().copy()
    array.flags.writeable = False
    return array
