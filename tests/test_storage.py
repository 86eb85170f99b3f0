"""Every store hands back what was kept, forgets honestly, and counts its bytes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.errors import BadInput
from model.storage import STORAGE
from model.storage.base import Room, Storage
from model.storage.codecs import CODECS
from model.storage.quantised import Quantised
from model.storage.ring import Ring

D, HEADS, CAPACITY = 32, 2, 40
OPTIONS: dict[str, dict[str, Any]] = {
    "ring": {"window": 5},
    "sink-window": {"window": 5, "sinks": 2},
    "streaming": {"window": 5, "sinks": 2},
    "kivi-2": {"group": 4, "residual": 8},
    "kivi-4": {"group": 4, "residual": 8},
}
MAKERS: dict[str, Callable[[Room], Storage]] = {
    name: partial(make, **OPTIONS.get(name, {})) for name, make in STORAGE.items()
} | {
    "ring-spare": partial(Ring, window=5, spare=3),
    "fp8-ring": partial(
        Quantised,
        key=CODECS["fp8-e4m3"],
        value=CODECS["fp4"],
        rows=partial(Ring, window=5, spare=1),
    ),
}
LOSSLESS = ("contiguous", "growing", "ring", "ring-spare", "sink-window", "streaming")
EVERY = pytest.mark.parametrize("name", MAKERS)


def room(**sizes: Any) -> Room:
    defaults: dict[str, Any] = {"kv_heads": HEADS, "d_key": D, "d_value": D, "capacity": CAPACITY}
    return Room(**(defaults | sizes))


def rows(n: int, seed: int = 0, batch: tuple[int, ...] = ()) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (2, *batch, HEADS, n, D)
    k, v = torch.randn(shape, generator=generator, dtype=torch.float64)
    return k, v


def feed(store: Storage, k: Tensor, v: Tensor, sizes: list[int] | None = None) -> None:
    """Append in pieces; one token at a time unless told (every store takes that)."""
    for piece_k, piece_v in zip(
        k.split(sizes or 1, dim=-2), v.split(sizes or 1, dim=-2), strict=True
    ):
        store.append(piece_k, piece_v)


def same(one: Storage, other: Storage) -> bool:
    contents = zip(by_position(one), by_position(other), strict=True)
    return one.length == other.length and all(torch.equal(a, b) for a, b in contents)


def by_position(store: Storage) -> tuple[Tensor, Tensor, Tensor]:
    k, v = store.read()
    order = store.positions.argsort()
    return k[..., order, :], v[..., order, :], store.positions[order]


def pieces(draw_from: list[int], total: int) -> list[int]:
    sizes = []
    while sum(sizes) < total:
        sizes.append(min(draw_from[len(sizes) % len(draw_from)], total - sum(sizes)))
    return sizes


@EVERY
@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 20])
def test_length_counts_tokens_and_positions_name_the_rows(name: str, n: int):
    store = MAKERS[name](room())
    k, v = rows(n)
    feed(store, k, v)
    kept_k, kept_v, positions = by_position(store)
    assert store.length == n
    assert len(positions) == kept_k.shape[-2] == kept_v.shape[-2]
    if name in LOSSLESS and name != "streaming":
        assert torch.equal(kept_k, k[..., positions, :])
        assert torch.equal(kept_v, v[..., positions, :])


@EVERY
@given(steps=st.lists(st.integers(1, 9), min_size=1, max_size=6), n=st.integers(1, 30))
def test_what_is_kept_does_not_depend_on_how_it_came(name: str, steps: list[int], n: int):
    if name == "streaming":  # takes chunks only while they fit
        n = min(n, 7)
    k, v = rows(n)
    whole, parts = MAKERS[name](room()), MAKERS[name](room())
    feed(whole, k, v)
    feed(parts, k, v, pieces(steps, n))
    assert same(whole, parts)


@pytest.mark.parametrize("name", ["ring", "ring-spare", "sink-window", "fp8-ring"])
@given(before=st.integers(0, 14), new=st.integers(1, 12))
def test_a_chunk_is_attended_before_it_overwrites(name: str, before: int, new: int):
    store = MAKERS[name](room())
    k, v = rows(before + new)
    feed(store, k[..., :before, :], v[..., :before, :])
    handed_out, _ = store.append(k[..., before:, :], v[..., before:, :])
    needed = range(max(0, before - 4), before + new)  # the first query reads 4 back
    assert set(needed) <= set(store.positions.tolist())
    assert handed_out.shape[-2] == len(store.positions)
    if name in LOSSLESS:
        assert torch.equal(handed_out, k[..., store.positions, :])
    assert len(set(store.positions.tolist())) == len(store.positions)


def test_a_ring_holds_the_rows_of_the_worked_example():
    for n, held in ((10, [8, 9, 6, 7]), (6, [4, 5, 2, 3])):
        store = Ring(room(), window=4)
        feed(store, *rows(n))
        store.read()
        assert store.positions.tolist() == held


def test_sinks_hold_the_rows_of_the_worked_example():
    gapped = STORAGE["sink-window"](room(), window=4, sinks=4)
    closed = STORAGE["streaming"](room(), window=4, sinks=4)
    k, v = rows(14)
    feed(gapped, k, v)
    feed(closed, k, v)
    kept = [0, 1, 2, 3, 10, 11, 12, 13]
    assert by_position(gapped)[2].tolist() == kept
    assert by_position(closed)[2].tolist() == list(range(8))
    assert torch.equal(by_position(closed)[0], k[..., kept, :])


def test_streaming_never_holds_more_than_sinks_and_window():
    store = MAKERS["streaming"](room())
    for step, (k, v) in enumerate(zip(*(x.split(1, dim=-2) for x in rows(20)), strict=True)):
        handed_out, _ = store.append(k, v)
        assert handed_out.shape[-2] == min(step + 1, 7)
        assert int(store.positions.max()) == handed_out.shape[-2] - 1


def test_streaming_refuses_chunks_that_would_evict():
    store = MAKERS["streaming"](room())
    feed(store, *rows(6))
    with pytest.raises(BadInput, match="2 tokens at once do not fit in 1"):
        store.append(*rows(2))
    assert store.length == 6


@EVERY
@given(n=st.integers(0, 24), ahead=st.integers(0, 9))
def test_a_rollback_restores_what_the_next_token_reads_or_refuses(name: str, n: int, ahead: int):
    tried, plain = MAKERS[name](room()), MAKERS[name](room())
    k, v = rows(n + ahead + 1)
    feed(tried, k[..., : n + ahead, :], v[..., : n + ahead, :])
    feed(plain, k[..., :n, :], v[..., :n, :])
    before = by_position(tried)
    try:
        tried.crop(n)
    except BadInput:
        assert name not in {"contiguous", "growing"}
        assert ahead > (4 if name == "ring-spare" else 0)
        assert "kivi" not in name or n + ahead >= 8
        assert all(torch.equal(a, b) for a, b in zip(before, by_position(tried), strict=True))
        return
    one = slice(n + ahead, n + ahead + 1)
    tried.append(k[..., one, :], v[..., one, :])
    plain.append(k[..., one, :], v[..., one, :])
    for a, b in zip(visible(tried, name), visible(plain, name), strict=True):
        assert torch.equal(a, b)


def visible(store: Storage, name: str) -> list[Tensor]:
    """Rows the newest token may read: a ring with spare slots hands out more than those."""
    k, v, positions = by_position(store)
    reach = positions > store.length - 6 if "ring" in name else positions >= 0
    return [k[..., reach, :], v[..., reach, :], positions[reach]]


@pytest.mark.parametrize(("spare", "back"), [(0, 1), (3, 4), (5, 6)])
def test_a_wrapped_ring_rolls_back_as_far_as_its_spare_rows(spare: int, back: int):
    store = Ring(room(), window=5, spare=spare)
    feed(store, *rows(20))
    with pytest.raises(BadInput, match=f"spare={back}"):
        store.crop(20 - back - 1)
    store.crop(20 - back)
    assert store.length == 20 - back


@EVERY
def test_crop_to_more_than_there_is_or_less_than_none_is_refused(name: str):
    store = MAKERS[name](room())
    feed(store, *rows(3))
    for n_tokens in (4, -1):
        with pytest.raises(BadInput, match=f"{n_tokens} tokens: the store has seen 3"):
            store.crop(n_tokens)
    store.crop(0)
    assert store.length == 0
    assert store.nbytes_held == 0


@EVERY
@given(order=st.lists(st.booleans(), min_size=1, max_size=12))
def test_forks_do_not_see_each_other(name: str, order: list[bool]):
    k, v = rows(6)
    trunk = MAKERS[name](room())
    feed(trunk, k, v)
    forks = [trunk, trunk.fork()]
    alone = [MAKERS[name](room()), MAKERS[name](room())]
    for store in alone:
        feed(store, k, v)
    for step, left in enumerate(order):
        which = 0 if left else 1
        new = rows(1, seed=10 * step + which)
        forks[which].append(*new)
        alone[which].append(*new)
    assert same(forks[0], alone[0])
    assert same(forks[1], alone[1])


@EVERY
def test_a_batch_row_equals_the_sequence_alone(name: str):
    k, v = rows(12, batch=(3,))
    together = MAKERS[name](room(batch=(3,)))
    feed(together, k, v)
    for row in range(3):
        alone = MAKERS[name](room())
        feed(alone, k[row], v[row])
        for batched, single in zip(together.read(), alone.read(), strict=True):
            assert torch.equal(batched[row], single)


@EVERY
def test_reorder_moves_sequences_and_later_tokens_follow(name: str):
    k, v = rows(14, batch=(3,))
    source = torch.tensor([2, 0])
    store = MAKERS[name](room(batch=(3,)))
    feed(store, k[..., :11, :], v[..., :11, :])
    store.reorder(source)
    feed(store, k[source][..., 11:, :], v[source][..., 11:, :])
    expected = MAKERS[name](room(batch=(2,)))
    feed(expected, k[source], v[source])
    assert same(store, expected)
    alone = MAKERS[name](room())
    feed(alone, k[0], v[0])
    with pytest.raises(BadInput, match="no batch axis"):
        alone.reorder(torch.tensor([0]))


def poison(store: Storage) -> None:
    """Fill every slab with numbers that must never be read."""
    for value in vars(store).values():
        if isinstance(value, Storage):
            poison(value)
        if isinstance(value, Tensor) and value.dim() > 1:
            value.fill_(1e30 if value.is_floating_point() else 0xFF)


@EVERY
@given(n=st.integers(1, 12))
def test_rows_never_written_are_never_read(name: str, n: int):
    clean, poisoned = MAKERS[name](room()), MAKERS[name](room())
    poison(poisoned)
    feed(clean, *rows(n))
    feed(poisoned, *rows(n))
    assert same(clean, poisoned)


@pytest.mark.parametrize("name", ["contiguous", "int8", "ring"])
def test_a_full_store_says_so_and_stays_as_it_was(name: str):
    make = partial(Ring, window=9) if name == "ring" else MAKERS[name]
    store = make(room(capacity=5))
    feed(store, *rows(4))
    with pytest.raises(BadInput, match="2 new after 4 tokens do not fit in 5"):
        store.append(*rows(2))
    assert store.length == 4


def test_rows_in_the_cache_do_not_change_when_others_come():
    store = MAKERS["contiguous"](room())
    k, v = rows(9)
    feed(store, k[..., :6, :], v[..., :6, :])
    before = [x.clone() for x in store.read()]
    feed(store, k[..., 6:, :], v[..., 6:, :])
    for old, now in zip(before, store.read(), strict=True):
        assert torch.equal(old, now[..., :6, :])


@dataclass(frozen=True)
class Bytes:
    """What a store reserves for 40 tokens and holds after 20, per head row pair."""

    per_row: float
    reserved_rows: int = CAPACITY
    held_rows: int = 20
    sizes: dict[str, int] = field(default_factory=dict)


WIDE = 2 * D * 8
EXPECTED = {
    "contiguous": Bytes(WIDE),
    "growing": Bytes(WIDE, reserved_rows=20),
    "ring": Bytes(WIDE, reserved_rows=5, held_rows=5),
    "ring-spare": Bytes(WIDE, reserved_rows=8, held_rows=8),
    "sink-window": Bytes(WIDE, reserved_rows=7, held_rows=7),
    "streaming": Bytes(WIDE, reserved_rows=7, held_rows=7),
    "int8": Bytes(2 * (D + 4)),
    "fp8-e4m3": Bytes(2 * D),
    "fp8-e5m2": Bytes(2 * D),
    "fp8-e4m3-scaled": Bytes(2 * (D + 4)),
    "fp8-e5m2-scaled": Bytes(2 * (D + 4)),
    "fp4": Bytes(2 * D * 4.5 / 8),
    "mxfp4": Bytes(2 * D * 4.25 / 8),
    "mxfp8": Bytes(2 * D * 8.25 / 8),
    "fp8-ring": Bytes(D + D * 4.5 / 8, reserved_rows=6, held_rows=6),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_bytes_are_rows_times_the_bytes_of_a_row(name: str, batch: tuple[int, ...]):
    store = MAKERS[name](room(batch=batch))
    feed(store, *rows(20, batch=batch))
    heads = HEADS * (batch or (1,))[0]
    expected = EXPECTED[name]
    assert store.nbytes == expected.per_row * expected.reserved_rows * heads
    assert store.nbytes_held == expected.per_row * expected.held_rows * heads


@pytest.mark.parametrize("n_bits", [2, 4])
@pytest.mark.parametrize("n", [5, 8, 20, 24])
def test_kivi_bytes_count_scales_and_the_rows_kept_whole(n_bits: int, n: int):
    store = STORAGE[f"kivi-{n_bits}"](room(dtype=torch.float16), group=4, residual=8)
    k, v = rows(n)
    feed(store, k.half(), v.half())
    k_whole, v_whole = n % 8, min(n, 8)
    coded = (n - k_whole + n - v_whole) * D * (n_bits + 32 / 4) / 8
    assert store.nbytes == HEADS * (coded + (k_whole + v_whole) * D * 2)


def test_kivi_on_llama_2_7b_takes_the_published_bytes():
    layer = Room(kv_heads=32, d_key=128, d_value=128, capacity=1, dtype=torch.float16)
    zeros = torch.zeros(32, 1024, 128, dtype=torch.float16)
    store = STORAGE["kivi-2"](layer)
    store.append(zeros, zeros)
    assert 32 * store.nbytes == 122 * 2**20
    for _ in range(3):
        store.append(zeros, zeros)
    assert 32 * store.nbytes == 410 * 2**20
