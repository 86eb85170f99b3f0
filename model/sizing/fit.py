"""What fits in the memory given: how many sequences of a length, how many tokens of a batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from model.errors import BadInput
from model.sizing.layers import Model
from model.sizing.question import MAX_SEQUENCES, MAX_TOKENS, Question
from model.sizing.size import total_bytes, weight_bytes


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Memory of all GPUs together, what the weights leave, and the most that fits in the rest.

    `tokens` is None when any length fits (no layer grows for good), or when none was searched.
    """

    memory_bytes: int
    weight_bytes: int | None
    free_bytes: int
    sequences: int
    tokens: int | None
    note: str


def fit(model: Model, question: Question, memory_bytes: int) -> Fit:
    """The most sequences of `question.tokens`, and the most tokens of `question.batch` sequences.

    `memory_bytes` is one GPU's; with tensor parallelism the GPUs' memory adds up, and so do
    replicated rows.
    """
    if memory_bytes < 1:
        raise BadInput(f"memory is {memory_bytes:,} bytes: give at least 1")
    weights = weight_bytes(model, question)
    total = memory_bytes * question.tensor_parallel
    free = max(total - (weights or 0), 0)

    def cost_of_batch(batch: int) -> int:
        return total_bytes(model, replace(question, batch=batch))

    def cost_of_tokens(tokens: int) -> int:
        prefix = min(question.shared_prefix, tokens)
        return total_bytes(model, replace(question, tokens=tokens, shared_prefix=prefix))

    fits_any = cost_of_tokens(MAX_TOKENS) <= free
    return Fit(
        memory_bytes=total,
        weight_bytes=weights,
        free_bytes=free,
        sequences=most(cost_of_batch, free, MAX_SEQUENCES),
        tokens=None if fits_any else most(cost_of_tokens, free, MAX_TOKENS),
        note=note(weights, total, fits_any=fits_any),
    )


def note(weights: int | None, total: int, *, fits_any: bool) -> str:
    if weights is None:
        return "the weights are not known and not taken off"
    if weights >= total:
        return f"the weights alone take {weights:,} of {total:,} bytes"
    return "any length fits: no layer grows for good" if fits_any else ""


def most(cost: Callable[[int], int], free: int, ceiling: int) -> int:
    """The largest n up to `ceiling` whose cost is no more than `free`; 0 when none is.

    >>> most(lambda n: 3 * n, 10, 100)
    3
    """
    low, high = 0, 1
    while high <= ceiling and cost(high) <= free:
        low, high = high, high * 2
    high = min(high, ceiling + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if cost(middle) <= free:
            low = middle
        else:
            high = middle
    return low
