"""A cache changes nothing: over every variant, store and mask, in float64."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Int
from torch import Tensor

from model import masks
from model.attention.heads import (
    AttentionRotatedOnRead,
    Parts,
    next_positions,
)
from model.attention.latent import (
    AbsorbedLatentAttention,
    ExpandedLatentAttention,
    LatentConfig,
)
from model.attention.shared import SharedConfig, SharedDecoder
from model.attention.yoco import Yoco, YocoConfig
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder
from model.errors import BadInput
from model.storage import STORAGE
from model.storage.base import KeyRows, MakeStorage, Room, Storage, ValueRows
from model.storage.contiguous import Contiguous
from model.storage.growing import Growing
from model.storage.ring import Ring
from model.storage.sinks import SinkWindow

N, TOLERANCE = 13, 1e-11
TOKENS = torch.randint(0, 29, (N,), generator=torch.Generator().manual_seed(5))
Model = Decoder | SharedDecoder | Yoco

WIDE = DecoderConfig(n_layers=3)
WINDOWED = replace(WIDE, window=4)
WITH_SINKS = replace(WINDOWED, sinks=2)
MIXED = replace(WINDOWED, global_layers=(2,))
LATENT = LatentConfig(n_layers=3, d_query_latent=10)


def masked(predicate: masks.Predicate, parts: Parts) -> Decoder:
    return Decoder(WIDE, 0, parts=replace(parts, mask=lambda _config, _layer: predicate))


MODELS: dict[str, Callable[[Parts], Model]] = {
    "mha": lambda parts: Decoder(replace(WIDE, n_kv_heads=4), 0, parts=parts),
    "gqa": lambda parts: Decoder(WIDE, 0, parts=parts),
    "mqa": lambda parts: Decoder(replace(WIDE, n_kv_heads=1), 0, parts=parts),
    "rotated-on-read": lambda parts: Decoder(
        WIDE, 0, parts=parts, attention=AttentionRotatedOnRead
    ),
    "window": lambda parts: Decoder(WINDOWED, 0, parts=parts),
    "window-sinks": lambda parts: Decoder(WITH_SINKS, 0, parts=parts),
    "mixed": lambda parts: Decoder(MIXED, 0, parts=parts),
    "strided": lambda parts: masked(masks.strided(3), parts),
    "fixed": lambda parts: masked(masks.fixed(4, 1), parts),
    "dilated": lambda parts: masked(masks.dilated(3, 2), parts),
    "mla-expanded": lambda parts: Decoder(
        LATENT, 0, parts=parts, attention=ExpandedLatentAttention
    ),
    "mla-absorbed": lambda parts: Decoder(
        LATENT, 0, parts=parts, attention=AbsorbedLatentAttention
    ),
    "mla-window": lambda parts: Decoder(
        replace(LATENT, window=4), 0, parts=parts, attention=AbsorbedLatentAttention
    ),
    "cla-2": lambda parts: SharedDecoder(SharedConfig(n_layers=3, share=2), 0, parts=parts),
    "cla-3-window": lambda parts: SharedDecoder(
        SharedConfig(n_layers=3, share=3, window=4), 0, parts=parts
    ),
    "yoco": lambda parts: Yoco(YocoConfig(), 0, parts=parts),
}
RING = partial(Ring, window=4)
SINKS = partial(SinkWindow, window=4, sinks=2)
ROLLING: dict[str, dict[str, MakeStorage]] = {
    "window": {"ring": RING, "ring-spare": partial(Ring, window=4, spare=3)},
    "mla-window": {"ring": RING},
    "cla-3-window": {"ring": RING},
    "window-sinks": {"sink-window": SINKS},
}


class Shuffled(Contiguous):
    """Hands rows and positions out in an order of its own."""

    def read(self) -> tuple[KeyRows, ValueRows]:
        k, v = super().read()
        return k[..., self.order(), :], v[..., self.order(), :]

    def order(self) -> Int[Tensor, " seen"]:
        return torch.randperm(self.length, generator=torch.Generator().manual_seed(self.length))

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return super().positions[self.order()]


class Poisoned(Contiguous):
    """Unwritten rows hold numbers no one may read."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.k.fill_(1e30)
        self.v.fill_(1e30)


CASES = [
    pytest.param(MODELS[model](Parts()), store, id=f"{model}-{name}")
    for model in MODELS
    for name, store in (
        {"contiguous": Poisoned, "growing": Growing, "shuffled": Shuffled} | ROLLING.get(model, {})
    ).items()
    # keys turned on read are turned by the place the store gives them, whatever the order
    if not (model == "rotated-on-read" and name == "shuffled")
]
EVERY = pytest.mark.parametrize(("model", "store"), CASES)
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)


def fed(model: Model, cache: KVCache, tokens: Tensor, sizes: list[int]) -> Tensor:
    logits, start = [], 0
    while start < len(tokens):
        size = sizes[len(logits) % len(sizes)]
        logits.append(model(tokens[start : start + size], cache))
        start += size
    return torch.cat(logits)


def gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


@EVERY
@settings(max_examples=5)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_cached_equals_full_for_every_split_of_the_text(
    model: Model, store: MakeStorage, sizes: list[int]
):
    cache = model.new_cache(N, store)
    assert gap(fed(model, cache, TOKENS, sizes), model(TOKENS)) <= TOLERANCE
    assert cache.length == N


@EVERY_MODEL
@settings(max_examples=4)
@given(t=st.integers(0, N - 1))
def test_a_later_token_changes_no_row_and_no_logit_before_it(name: str, t: int):
    model = MODELS[name](Parts())
    edited = TOKENS.clone()
    edited[t] = (edited[t] + 1) % 29
    change = (model(edited) - model(TOKENS)).abs().amax(dim=-1)
    assert (change[:t] <= 1e-12).all()
    assert change[t] > 1e-6
    caches = [model.new_cache(N, Growing), model.new_cache(N, Growing)]
    for cache, tokens in zip(caches, (edited, TOKENS), strict=True):
        model(tokens, cache)
    for one, other in zip(caches[0].stores, caches[1].stores, strict=True):
        for a, b in zip(one.read(), other.read(), strict=True):
            before = one.positions < t
            assert torch.allclose(a[..., before, :], b[..., before, :], rtol=0, atol=1e-12)


def test_a_mask_that_looks_ahead_breaks_what_a_cache_rests_on():
    model = masked(masks.full, Parts())
    edited = TOKENS.clone()
    edited[-1] = (edited[-1] + 1) % 29
    caches = [model.new_cache(N), model.new_cache(N)]
    for cache, tokens in zip(caches, (edited, TOKENS), strict=True):
        model(tokens, cache)
    first, second = ([cache[layer].read()[0] for cache in caches] for layer in (0, 1))
    assert torch.equal(first[0][:, :-1], first[1][:, :-1])  # these know their own token only
    assert gap(second[0][:, :-1], second[1][:, :-1]) > 1e-3


def test_rows_of_the_first_layer_know_their_token_and_those_above_the_whole_prefix():
    model = Decoder(WIDE, 0)
    other = torch.cat([(TOKENS[:-1] + 1) % 29, TOKENS[-1:]])
    caches = [model.new_cache(N), model.new_cache(N)]
    for cache, tokens in zip(caches, (TOKENS, other), strict=True):
        model(tokens, cache)
    gaps = [gap(*(cache[layer].read()[0][:, -1] for cache in caches)) for layer in range(3)]
    assert gaps[0] == 0
    assert min(gaps[1:]) > 1e-3


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"window-sinks", "fixed"}))
@pytest.mark.parametrize("shift", [7, 1000])
def test_shifting_all_positions_changes_nothing(name: str, shift: int):
    def shifted(store: Storage | None, new: int) -> Int[Tensor, " new"]:
        return next_positions(store, new) + shift

    plain, moved = MODELS[name](Parts()), MODELS[name](Parts(positions=shifted))
    assert gap(plain(TOKENS), moved(TOKENS)) <= 1e-9


@EVERY_MODEL
def test_a_wrong_distance_does_change_the_logits(name: str):
    def stretched(store: Storage | None, new: int) -> Int[Tensor, " new"]:
        return 2 * next_positions(store, new)

    plain, moved = MODELS[name](Parts()), MODELS[name](Parts(positions=stretched))
    assert gap(plain(TOKENS), moved(TOKENS)) > 1e-3


@EVERY
@settings(max_examples=4)
@given(n=st.integers(1, 9), ahead=st.integers(0, 7))
def test_a_rollback_leaves_the_next_logits_as_if_nothing_had_been(
    model: Model, store: MakeStorage, n: int, ahead: int
):
    cache = model.new_cache(20, store)
    model(TOKENS[:n], cache)
    if ahead:
        model(TOKENS[-ahead:], cache)
    try:
        cache.crop(n)
    except BadInput:
        assert any(isinstance(kept, (Ring, SinkWindow)) for kept in cache.stores)
        assert cache.length == n + ahead
        return
    assert cache.length == n
    assert gap(model(TOKENS[n : n + 1], cache), model(TOKENS[: n + 1])[n:]) <= TOLERANCE


@EVERY
@settings(max_examples=2)
@given(turns=st.lists(st.booleans(), min_size=1, max_size=5))
def test_forks_written_in_turns_equal_two_runs(model: Model, store: MakeStorage, turns: list[bool]):
    trunk = model.new_cache(N, store)
    model(TOKENS[:6], trunk)
    forks = (trunk, trunk.fork())
    written: tuple[list[int], list[int]] = ([], [])
    for step, which in enumerate(turns):
        token = (3 * step + which) % 29
        written[which].append(token)
        logits = model(torch.tensor([token]), forks[which])
        alone = model(torch.cat([TOKENS[:6], torch.tensor(written[which])]))
        assert gap(logits[-1], alone[-1]) <= TOLERANCE


@EVERY
@pytest.mark.parametrize("n", [1, 3, N])
def test_bytes_held_are_the_numbers_of_the_formula(model: Model, store: MakeStorage, n: int):
    cache = model.new_cache(N, store)
    fed(model, cache, TOKENS[:n], [1])
    numbers = model.config.cached_numbers(n)
    whole = model.config.numbers_per_token * n  # a slab keeps what the window hides
    held, first = cache.nbytes_held / 8, cache[0]
    if isinstance(first, SinkWindow):
        assert held == model.config.numbers_per_token * min(n, 6)
    elif isinstance(first, Ring) and first.spare:
        assert held == model.config.numbers_per_token * min(n, 7)
    else:
        assert held == (numbers if isinstance(first, Ring) else whole)


def test_a_stack_of_mixed_layers_keeps_rings_and_slabs_side_by_side():
    model = Decoder(MIXED, 0)
    rooms = model.rooms(N)
    cache = KVCache([Ring(rooms[0], window=4), Ring(rooms[1], window=4), Contiguous(rooms[2])])
    assert gap(fed(model, cache, TOKENS, [5, 1, 2]), model(TOKENS)) <= TOLERANCE
    assert cache.nbytes_held == 8 * MIXED.cached_numbers(N)
    assert [store.read()[0].shape[-2] for store in cache.stores] == [4, 4, N]


def test_a_rollback_that_one_layer_refuses_happens_in_none():
    model = Decoder(MIXED, 0)
    rooms = model.rooms(N)
    cache = KVCache([Contiguous(rooms[0]), Contiguous(rooms[1]), Ring(rooms[2], window=4)])
    model(TOKENS, cache)
    with pytest.raises(BadInput, match="spare=2"):
        cache.crop(N - 3)
    assert [store.length for store in cache.stores] == [N, N, N]


@pytest.mark.parametrize("n_prefix", [0, 1, 5, 9])
@settings(max_examples=4)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_a_prefix_model_is_exact_once_the_whole_prefix_came_at_once(
    n_prefix: int, sizes: list[int]
):
    model = masked(masks.prefix(n_prefix), Parts())
    cache = model.new_cache(N)
    first = model(TOKENS[: max(n_prefix, 1)], cache)
    rest = fed(model, cache, TOKENS[len(first) :], sizes)
    assert gap(torch.cat([first, rest]), model(TOKENS)) <= TOLERANCE


def test_a_prefix_that_came_in_pieces_is_wrong():
    model = masked(masks.prefix(5), Parts())
    assert gap(fed(model, model.new_cache(N), TOKENS, [2]), model(TOKENS)) > 1e-3


@pytest.mark.parametrize(
    "store",
    [make for name, make in STORAGE.items() if name.startswith(("int8", "fp8"))],
    ids=[name for name in STORAGE if name.startswith(("int8", "fp8"))],
)
@settings(max_examples=4)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_what_a_codec_loses_does_not_depend_on_the_split(store: MakeStorage, sizes: list[int]):
    model = Decoder(WIDE, 0)
    pieces = fed(model, model.new_cache(N, store), TOKENS, sizes)
    assert gap(pieces, model(TOKENS, model.new_cache(N, store))) <= 1e-9
    assert 0 < gap(pieces, model(TOKENS)) < 3


# --- Streaming: positions are places in the cache ---------------------------------------------

STREAMING = partial(STORAGE["streaming"], window=4, sinks=2)


def test_streaming_is_full_attention_while_everything_fits():
    model = Decoder(WIDE, 0, attention=AttentionRotatedOnRead)
    cache = model.new_cache(N, STREAMING)
    assert gap(fed(model, cache, TOKENS[:6], [4, 1]), Decoder(WIDE, 0)(TOKENS[:6])) <= TOLERANCE


def test_streaming_equals_a_recompute_of_the_kept_tokens_in_one_layer():
    """Deeper layers keep what they computed from tokens that are gone; the first does not."""
    model = Decoder(replace(WIDE, n_layers=1), 0, attention=AttentionRotatedOnRead)
    cache = model.new_cache(N, STREAMING)
    for t, token in enumerate(TOKENS):
        logits = model(token[None], cache)
        kept = [*range(min(2, t + 1)), *range(max(2, t - 3), t + 1)]
        assert gap(logits[-1], model(TOKENS[kept])[-1]) <= TOLERANCE


def test_streaming_with_the_places_of_the_text_differs_once_rows_are_gone():
    model = Decoder(WIDE, 0, attention=AttentionRotatedOnRead)
    runs = [
        fed(model, model.new_cache(N, make), TOKENS, [1])
        for make in (STREAMING, partial(SinkWindow, window=4, sinks=2))
    ]
    assert gap(runs[0][:6], runs[1][:6]) <= TOLERANCE
    assert gap(runs[0][7:], runs[1][7:]) > 1e-3


def test_sinks_in_the_mask_equal_the_sink_store_in_every_layer():
    model = Decoder(WITH_SINKS, 0, attention=AttentionRotatedOnRead)
    cache = model.new_cache(N, SINKS)
    assert gap(fed(model, cache, TOKENS, [1]), Decoder(WITH_SINKS, 0)(TOKENS)) <= TOLERANCE


def test_a_store_that_another_layer_is_ahead_of_is_noticed():
    model = Decoder(WIDE, 0)
    cache = model.new_cache(N)
    shape = torch.zeros(2, 1, 8, dtype=torch.float64)
    cache[0].append(shape, shape)
    with pytest.raises(BadInput, match=r"disagree on the length of the cache: \[0, 1\]"):
        _ = cache.length
