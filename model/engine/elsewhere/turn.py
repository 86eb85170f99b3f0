"""What one turn of a benchmark took, in plain numbers that fit in a line of JSON."""

from typing import NamedTuple


class Turn(NamedTuple):
    """Seconds for the prompt, then per step: by the clock, and of the process's own processors.

    tokens: what the first sequence of the batch wrote, the prompt's own next token first.
    """

    prefill_s: float
    step_s: float
    step_cpu_s: float
    tokens: list[int]
