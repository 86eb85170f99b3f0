"""Who runs in which step: a batch that waits for its longest member, or one refilled each step.

A step runs the model once. In it a request is fed a chunk of its prompt, or the token it
wrote last; the step that feeds the last prompt token, and each one after it, writes a token.
Sources: Orca (OSDI 2022), iteration-level scheduling; Sarathi-Serve, arXiv 2403.02310, chunks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from model.errors import BadInput

Phase = Literal["prefill", "decode", "idle"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """How much one request asks for. With the default prompt of 1, n tokens take n steps."""

    name: str
    output: int
    prompt: int = 1
    arrival: int = 0

    def __post_init__(self) -> None:
        if min(self.output, self.prompt) < 1 or self.arrival < 0:
            message = (
                f"request {self.name}: prompt {self.prompt}, output {self.output}, arrival "
                f"{self.arrival}: lengths must be at least 1, arrivals at least 0"
            )
            raise BadInput(message)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a step may hold: requests, tokens fed, and tokens kept in the cache afterwards."""

    slots: int
    step_tokens: int | None = None
    cache_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.slots < 1:
            message = f"{self.slots} slots run nothing: use at least 1"
            raise BadInput(message)
        if self.step_tokens is not None and self.step_tokens < self.slots:
            message = (
                f"{self.step_tokens} tokens a step cannot feed {self.slots} slots: "
                f"use at least {self.slots}"
            )
            raise BadInput(message)


class Cell(NamedTuple):
    """What one slot did in one step. `fed` tokens ran, `kept` are in its cache afterwards."""

    step: int
    slot: int
    request: str
    phase: Phase
    fed: int
    kept: int


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A finished schedule: what every slot did, and when each request got its tokens."""

    slots: int
    cells: tuple[Cell, ...]
    token_steps: dict[str, tuple[int, ...]]  # per request, the step count at each token
    preemptions: tuple[tuple[int, str], ...] = ()

    @property
    def n_steps(self) -> int:
        return 1 + max(cell.step for cell in self.cells)

    @property
    def finish(self) -> dict[str, int]:
        """Steps run until each request had its last token."""
        return {name: steps[-1] for name, steps in self.token_steps.items()}

    @property
    def release(self) -> dict[str, int]:
        """Steps run until each request's slot was free again: later, if its batch runs on."""
        return {cell.request: cell.step + 1 for cell in self.cells}

    @property
    def mean_completion(self) -> float:
        """Mean over requests of the steps until they were finished."""
        return sum(self.finish.values()) / len(self.finish)

    @property
    def busy(self) -> float:
        """Share of all slots and steps that fed a token."""
        return sum(cell.fed > 0 for cell in self.cells) / (self.slots * self.n_steps)

    def fed(self) -> list[int]:
        """Tokens fed in each step: what the step's arithmetic grows with."""
        fed = [0] * self.n_steps
        for cell in self.cells:
            fed[cell.step] += cell.fed
        return fed


@dataclass(eq=False)
class Running:
    """A request in a slot. After a preemption its written tokens are fed like a prompt."""

    request: Request
    slot: int
    written: int = 0
    kept: int = 0

    @property
    def to_feed(self) -> int:
        """Tokens known but not yet in the cache: 1 while decoding."""
        return self.request.prompt + self.written - self.kept

    @property
    def phase(self) -> Phase:
        return "decode" if self.written and self.to_feed == 1 else "prefill"

    @property
    def finished(self) -> bool:
        return self.written == self.request.output


class Recorder:
    """Feeds running requests and writes down what happened."""

    def __init__(self, slots: int) -> None:
        self.slots, self.step = slots, 0
        self.cells: list[Cell] = []
        self.tokens: dict[str, list[int]] = {}
        self.preemptions: list[tuple[int, str]] = []

    def feed(self, running: Running, n: int) -> None:
        """Run `n` tokens of one request; when all it has are in, the next one is written."""
        phase = running.phase
        running.kept += n
        name = running.request.name
        self.cells.append(Cell(self.step, running.slot, name, phase, n, running.kept))
        if running.to_feed == 0:
            running.written += 1
            self.tokens.setdefault(name, []).append(self.step + 1)

    def idle(self, running: Running) -> None:
        """Keep a slot that does nothing: its request waits for the rest of the batch."""
        name = running.request.name
        self.cells.append(Cell(self.step, running.slot, name, "idle", 0, running.kept))

    def timeline(self) -> Timeline:
        return Timeline(
            slots=self.slots,
            cells=tuple(self.cells),
            token_steps={name: tuple(steps) for name, steps in self.tokens.items()},
            preemptions=tuple(self.preemptions),
        )


def in_order(requests: Sequence[Request]) -> list[Request]:
    """First come, first served; of those that came together, the order given."""
    if len({request.name for request in requests}) != len(requests) or not requests:
        message = f"{len(requests)} requests need as many different names, and at least 1"
        raise BadInput(message)
    return sorted(requests, key=lambda request: request.arrival)
