"""Serve a workload from a memory, tick by tick, and keep what every tick looked like."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from model.errors import BadInput
from model.serving.memories import Held, Memory
from model.serving.workload import TextRequest

Kind = Literal["arrives", "starts", "finishes", "is preempted"]


class Event(NamedTuple):
    """What happened to a request, for a status sentence."""

    tick: int
    kind: Kind
    request: str


class Row(NamedTuple):
    """One running sample at the end of a tick: its blocks (or slab) and its length."""

    request: str
    sample: int
    blocks: tuple[int, ...]
    n_tokens: int


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Every tick of a served workload. Arrays are read-only and have one entry a tick.

    Slots count tokens: used holds one, reserved cannot be had by others, wasted is their
    difference. logical counts shared tokens once per text. holders: [ticks units].
    """

    total: int
    unit_size: int
    used: np.ndarray
    reserved: np.ndarray
    logical: np.ndarray
    waiting: np.ndarray
    prompt_tokens: np.ndarray  # so far
    hit_tokens: np.ndarray  # of those, found in the cache
    holders: np.ndarray
    rows: tuple[tuple[Row, ...], ...]
    events: tuple[Event, ...]

    @property
    def n_ticks(self) -> int:
        return len(self.used)

    @property
    def wasted(self) -> np.ndarray:
        return self.reserved - self.used

    @property
    def hit_rate(self) -> np.ndarray:
        """Share of the prompt tokens admitted so far that did not have to run."""
        return self.hit_tokens / np.maximum(self.prompt_tokens, 1)


@dataclass(eq=False)
class _Sample:
    request: TextRequest
    number: int
    held: Held
    done: int

    def text(self, n_more: int = 0) -> tuple[int, ...]:
        return self.request.prompt + self.request.outputs[self.number][: self.done + n_more]

    @property
    def finished(self) -> bool:
        return self.done == len(self.request.outputs[self.number])


class _Snapshot(NamedTuple):
    used: int
    reserved: int
    logical: int
    waiting: int
    prompt_tokens: int
    hit_tokens: int
    holders: list[int]
    rows: tuple[Row, ...]


class _Server:
    """First come, first served; when memory runs out the youngest request is preempted.

    It keeps the tokens it has and computes their rows again when it comes back (as in vLLM).
    """

    def __init__(self, requests: Sequence[TextRequest], memory: Memory) -> None:
        self.waiting, self.memory = list(requests), memory
        self.done = {request.name: [0] * len(request.outputs) for request in requests}
        self.running: list[_Sample] = []
        self.events: list[Event] = []
        self.tick = 0

    def step(self) -> _Snapshot:
        self._announce()
        self._admit()
        for sample in list(self.running):
            if sample in self.running:  # an older one may have pushed it out meanwhile
                self._decode(sample)
        snapshot = self._look()
        for sample in [s for s in self.running if s.finished]:
            self._leave(sample)
        self.tick += 1
        return snapshot

    def _look(self) -> _Snapshot:
        memory = self.memory
        rows = tuple(
            Row(s.request.name, s.number, tuple(s.held.table.blocks), s.held.table.n_tokens)
            for s in self.running
        )
        return _Snapshot(
            used=memory.used,
            reserved=memory.reserved,
            logical=sum(row.n_tokens for row in rows),
            waiting=sum(request.arrival <= self.tick for request in self.waiting),
            prompt_tokens=memory.prompt_tokens,
            hit_tokens=memory.hit_tokens,
            holders=memory.units,
            rows=rows,
        )

    def _announce(self) -> None:
        for request in self.waiting:
            if request.arrival == self.tick:
                self._note("arrives", request)

    def _admit(self) -> None:
        while self.waiting and self.waiting[0].arrival <= self.tick:
            request = self.waiting[0]
            done = self.done[request.name]
            held = self.memory.open(request.prompt, [len(request.prompt) + n for n in done])
            if held is None:
                return
            self.waiting.pop(0)
            self.running += [_Sample(request, i, h, done[i]) for i, h in enumerate(held)]
            self._note("starts", request)

    def _decode(self, sample: _Sample) -> None:
        if sample.finished:  # came back only for the sake of its twin
            return
        while not self.memory.grow(sample.held, sample.text(n_more=1)):
            youngest = self.running[-1].request
            self._preempt(youngest)
            if youngest is sample.request:
                return
        sample.done += 1

    def _preempt(self, request: TextRequest) -> None:
        """Free all running samples of a request and put it at the head of the queue."""
        for sample in [s for s in self.running if s.request is request]:
            self.done[request.name][sample.number] = sample.done
            self.memory.close(sample.held)
            self.running.remove(sample)
        self.waiting.insert(0, request)
        self._note("is preempted", request)

    def _leave(self, sample: _Sample) -> None:
        self.done[sample.request.name][sample.number] = sample.done
        self.memory.close(sample.held)
        self.running.remove(sample)
        if all(s.request is not sample.request for s in self.running):
            self._note("finishes", sample.request)

    def _note(self, kind: Kind, request: TextRequest) -> None:
        self.events.append(Event(self.tick, kind, request.name))


def replay(requests: Sequence[TextRequest], memory: Memory) -> Recording:
    """Serve every request to its end; the same requests and memory give the same recording.

    A tick runs the prompts of those admitted and one token of every running sample. The look
    of a tick is taken before finished samples leave. Raises BadInput for a request that
    could not even run alone, so nobody waits for ever.
    """
    for request in requests:
        lengths = [len(request.prompt) + len(output) for output in request.outputs]
        if not memory.fits_alone(len(request.prompt), lengths):
            message = (
                f"request {request.name} needs {sum(lengths)} tokens and can never run in a "
                f"memory of {memory.total}: give it more memory or longer reservations"
            )
            raise BadInput(message)
    server, looks = _Server(requests, memory), []
    while server.waiting or server.running:
        looks.append(server.step())
    arrays = {name: _frozen([getattr(look, name) for look in looks]) for name in NUMBERS}
    return Recording(
        total=memory.total,
        unit_size=memory.unit_size,
        rows=tuple(look.rows for look in looks),
        events=tuple(server.events),
        **arrays,
    )


NUMBERS = (
    "used",
    "reserved",
    "logical",
    "waiting",
    "prompt_tokens",
    "hit_tokens",
    "holders",
)


def _frozen(column: object) -> np.ndarray:
    array = np.array(column, dtype=np.int64)
    array.flags.writeable = False
    return array
