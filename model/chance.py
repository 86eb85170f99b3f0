"""Randomness as an object: drawn from a generator, or enumerated to get an exact law."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from model.sampling import draw

Law = Float[Tensor, " vocab"]
Result = TypeVar("Result", bound=Hashable)


@runtime_checkable
class Chance(Protocol):
    """The two random decisions there are."""

    def happens(self, probability: float) -> bool:
        """Decide whether something of this probability happens."""
        ...

    def choose(self, law: Law) -> int:
        """Choose a token by its distribution."""
        ...


class Seeded:
    """Decisions drawn from a generator that the caller owns."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def happens(self, probability: float) -> bool:
        uniform = torch.rand((), generator=self.generator, dtype=torch.float64)
        return bool(uniform < probability)

    def choose(self, law: Law) -> int:
        return int(draw(law, self.generator))


class Scripted:
    """Takes a given branch at each decision, the first open one after the script ends."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.branches: list[list[float]] = []  # the probabilities of every decision met
        self.weight = 1.0

    def happens(self, probability: float) -> bool:
        return self._take([1 - probability, probability]) == 1

    def choose(self, law: Law) -> int:
        return self._take(law.tolist())

    def _take(self, probabilities: list[float]) -> int:
        depth = len(self.branches)
        self.branches.append(probabilities)
        if depth == len(self.script):
            self.script.append(_next_possible(probabilities, 0))
        self.weight *= probabilities[self.script[depth]]
        return self.script[depth]


def exact_law(run: Callable[[Chance], Result]) -> dict[Result, float]:
    """Return the probability of every result, by running through every possible decision.

    `run` must make all its random decisions through the chance it is given, and start from
    the same state each time. This enumerates the running code itself, not a model of it.
    """
    law: dict[Result, float] = defaultdict(float)
    script: list[int] = []
    while True:
        chance = Scripted(script)
        law[run(chance)] += chance.weight
        while script:  # step to the next leaf: advance the deepest decision that can
            branches = chance.branches[len(script) - 1]
            following = _next_possible(branches, script.pop() + 1)
            if following < len(branches):
                script.append(following)
                break
        else:
            return dict(law)


def _next_possible(probabilities: list[float], start: int) -> int:
    """Index of the first positive probability from `start` on, or their number."""
    return next(
        (i for i in range(start, len(probabilities)) if probabilities[i] > 0), len(probabilities)
    )
