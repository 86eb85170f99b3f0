"""A served workload adds up at every tick, ends, and comes out the same each time."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import BadInput
from model.serving.memories import Memory, PagedMemory, ReservedMemory
from model.serving.replay import Recording, replay
from model.serving.workload import TextRequest, WorkloadShape, make_workload

TOTAL = 128
MEMORIES = {
    "blocks of 1": lambda: PagedMemory(TOTAL, 1),
    "blocks of 4": lambda: PagedMemory(TOTAL // 4, 4),
    "blocks of 16": lambda: PagedMemory(TOTAL // 16, 16),
    "reserved": lambda: ReservedMemory(TOTAL, 48),
}
every_memory = pytest.mark.parametrize("name", MEMORIES)
SEEDS = st.integers(0, 10_000)
few = settings(max_examples=10)


SHAPE = WorkloadShape(n_requests=6)


def served(name: str, seed: int) -> tuple[tuple[TextRequest, ...], Memory, Recording]:
    requests, memory = make_workload(seed, SHAPE), MEMORIES[name]()
    return requests, memory, replay(requests, memory)


@every_memory
@few
@given(SEEDS)
def test_slots_add_up_at_every_tick(name: str, seed: int):
    _, _, record = served(name, seed)
    assert (record.used >= 0).all()
    assert (record.used <= record.reserved).all()
    assert (record.reserved <= record.total).all()
    assert (record.used <= record.logical).all()
    assert (record.reserved == (record.holders > 0).sum(axis=1) * record.unit_size).all()
    assert (record.logical == [sum(r.n_tokens for r in rows) for rows in record.rows]).all()


@every_memory
@few
@given(SEEDS)
def test_holders_are_the_entries_of_the_tables(name: str, seed: int):
    _, _, record = served(name, seed)
    for holders, rows in zip(record.holders, record.rows, strict=True):
        entries = np.zeros_like(holders)
        for row in rows:
            for block in row.blocks:
                entries[block] += 1
        assert (entries == holders).all()


@every_memory
@few
@given(SEEDS)
def test_every_request_arrives_starts_and_finishes(name: str, seed: int):
    requests, memory, record = served(name, seed)
    for request in requests:
        kinds = [event.kind for event in record.events if event.request == request.name]
        assert kinds[0] == "arrives"
        assert kinds.count("finishes") == 1
        assert kinds[-1] == "finishes"
        assert kinds.count("starts") == kinds.count("is preempted") + 1
    assert not any(memory.units), "everything was given back"


@pytest.mark.parametrize("name", [name for name in MEMORIES if name != "reserved"])
@few
@given(SEEDS)
def test_paging_wastes_less_than_a_block_a_text(name: str, seed: int):
    _, _, record = served(name, seed)
    texts = np.array([len(rows) for rows in record.rows])
    assert (record.wasted <= texts * (record.unit_size - 1)).all()


def test_a_recording_is_reproducible_and_cannot_be_changed():
    _, _, record = served("blocks of 4", 3)
    _, _, again = served("blocks of 4", 3)
    for field in dataclasses.fields(Recording):
        assert np.all(getattr(record, field.name) == getattr(again, field.name))
    with pytest.raises(ValueError, match="read-only"):
        record.used[0] = 1


def test_sharing_is_what_the_hit_rate_counts():
    shape = WorkloadShape(sharing=0.0, two_samples=0.0)
    assert replay(make_workload(1, shape), PagedMemory(64, 4)).hit_tokens[-1] == 0
    shape = WorkloadShape(sharing=1.0, two_samples=0.0, shared_prefix=12, n_requests=5)
    record = replay(make_workload(1, shape), PagedMemory(64, 4))
    assert record.hit_tokens[-1] == 4 * 12  # all but the first request find three blocks


def test_when_memory_runs_out_the_youngest_is_preempted_and_still_finishes():
    requests = tuple(
        TextRequest(name=name, arrival=0, prompt=(i,) * 4, outputs=((7,) * 12,))
        for i, name in enumerate("AB")
    )
    record = replay(requests, PagedMemory(5, 4))
    preempted = [event.request for event in record.events if event.kind == "is preempted"]
    assert set(preempted) == {"B"}
    assert [e.request for e in record.events if e.kind == "finishes"] == ["A", "B"]


@pytest.mark.parametrize("memory", [PagedMemory(3, 4), ReservedMemory(64, 12)], ids=["p", "r"])
def test_a_request_that_can_never_run_is_refused_at_once(memory: Memory):
    request = TextRequest(name="A", arrival=0, prompt=(1,) * 8, outputs=((2,) * 8,))
    with pytest.raises(BadInput, match="16 tokens"):
        replay([request], memory)


def test_impossible_requests_and_slabs_are_refused():
    with pytest.raises(BadInput, match="0 prompt tokens"):
        TextRequest(name="A", arrival=0, prompt=(), outputs=((1,),))
    with pytest.raises(BadInput, match="slabs of 9"):
        ReservedMemory(8, 9)
