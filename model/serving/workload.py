"""A small stream of requests, the same for every memory that has to serve it."""

from dataclasses import dataclass

import numpy as np

from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class TextRequest:
    """One prompt and what it will be answered with, decided in advance so that runs compare.

    outputs: one tuple of token ids per sample; samples share the prompt (parallel sampling).
    """

    name: str
    arrival: int
    prompt: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        shortest = min((len(output) for output in self.outputs), default=0)
        if not self.prompt or shortest < 1:
            message = (
                f"request {self.name}: {len(self.prompt)} prompt tokens, shortest output "
                f"{shortest}: both must be at least 1"
            )
            raise BadInput(message)

    @property
    def longest(self) -> int:
        """Tokens of the longest sample once it is finished."""
        return len(self.prompt) + max(map(len, self.outputs))


@dataclass(frozen=True, kw_only=True)
class WorkloadShape:
    """How requests are drawn. Lengths are uniform between the two numbers, both included."""

    n_requests: int = 8
    shared_prefix: int = 12
    sharing: float = 0.6  # the share of requests that begin with the common prefix
    own_prompt: tuple[int, int] = (3, 14)
    output: tuple[int, int] = (4, 18)
    two_samples: float = 0.25  # the share of requests answered twice
    ticks_between: tuple[int, int] = (0, 4)
    vocab_size: int = 1_000


def make_workload(seed: int, shape: WorkloadShape | None = None) -> tuple[TextRequest, ...]:
    """Draw requests with a common beginning, own endings and outputs of different lengths."""
    shape = shape or WorkloadShape()
    random = np.random.default_rng(seed)

    def tokens(n: int) -> tuple[int, ...]:
        return tuple(random.integers(shape.vocab_size, size=n).tolist())

    def between(ends: tuple[int, int]) -> int:
        return int(random.integers(ends[0], ends[1] + 1))

    common, tick, requests = tokens(shape.shared_prefix), 0, []
    for number in range(shape.n_requests):
        beginning = common if random.random() < shape.sharing else ()
        n_samples = 2 if random.random() < shape.two_samples else 1
        requests.append(
            TextRequest(
                name=chr(ord("A") + number % 26) + "'" * (number // 26),
                arrival=tick,
                prompt=beginning + tokens(between(shape.own_prompt)),
                outputs=tuple(tokens(between(shape.output)) for _ in range(n_samples)),
            )
        )
        tick += between(shape.ticks_between)
    return tuple(requests)
