"""What must hold of any cache, each law open to the one part that may break it.

The arguments with defaults are seams: `test_bugs` calls these same functions with wrong twins.
"""
# ruff: noqa: PT028 -- the defaults are the right parts, for a twin to take the place of

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from model import masks
from model.attention.attend import Share, share_heads
from model.attention.heads import (
    Attention,
    Parts,
    Rotate,
    mask_of_layer,
    next_positions,
)
from model.beam import ForkedBeams
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder, MakeAttention
from model.errors import BadInput
from model.padding import next_place, places
from model.reuse import rows_still_true, unseen
from model.rope import rotate as right_rotate
from model.storage.base import MakeStorage, Room, Storage
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring

N, CAPACITY, TOLERANCE = 13, 60, 1e-11
SIZES = (DecoderConfig(), DecoderConfig(n_heads=6, n_layers=3), DecoderConfig(n_kv_heads=1))
SPLITS = ((13,), (6,), (2, 4), (1,) * 6, (5, 1, 3))
FAR = 1000


def tokens_of(n: int, seed: int) -> Tensor:
    return torch.randint(0, 29, (n,), generator=torch.Generator().manual_seed(seed))


TOKENS = tokens_of(N, 5)


def feed(decoder: Decoder, cache: KVCache, tokens: Tensor, split: Sequence[int] = ()) -> Tensor:
    """Logits after every token: in the pieces of the split, then one by one."""
    pieces = tokens.split([*split, *[1] * (len(tokens) - sum(split))])
    return torch.cat([decoder(piece, cache) for piece in pieces])


def gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def test_every_split_of_a_prompt_gives_the_logits_of_a_full_pass(  # noqa: PLR0913 - the seams
    *,
    mask: Callable[[DecoderConfig, int], masks.Predicate] = mask_of_layer,
    positions: Callable[[Any, int], Tensor] = next_positions,
    rotate: Rotate = right_rotate,
    share: Share = share_heads,
    attention: MakeAttention = Attention,
    store: MakeStorage = Contiguous,
):
    parts = Parts(rotate=rotate, positions=positions, mask=mask, share=share)
    for config in SIZES:
        decoder = Decoder(config, 0, parts=parts, attention=attention)
        full = Decoder(config, 0, parts=Parts(rotate=rotate))(TOKENS)
        for split in SPLITS:
            cache = decoder.new_cache(CAPACITY, store=store)
            assert gap(feed(decoder, cache, TOKENS, split), full) <= TOLERANCE
            assert cache.length == N


def test_moving_a_text_along_changes_no_logit(*, rotate: Rotate = right_rotate):
    def moved(by: int) -> Tensor:
        parts = Parts(rotate=lambda x, at, base: rotate(x, at + by, base))
        return Decoder(SIZES[0], 0, parts=parts)(TOKENS)

    for by in (1, 7, FAR):
        assert gap(moved(by), moved(0)) <= TOLERANCE


def test_a_window_reads_exactly_its_width_the_own_key_included(
    *, mask: Callable[[DecoderConfig, int], masks.Predicate] = mask_of_layer
):
    for width in (1, 3, 4):
        square = masks.square(mask(DecoderConfig(window=width), 0), N)
        assert square.sum(dim=-1).tolist() == [min(i + 1, width) for i in range(N)]


def test_a_ring_gives_the_logits_of_the_window_mask(*, ring: Callable[..., Ring] = Ring):
    for width in (3, 4):
        decoder = Decoder(DecoderConfig(window=width), 0)
        for split in SPLITS:
            cache = decoder.new_cache(CAPACITY, store=partial(ring, window=width))
            assert gap(feed(decoder, cache, TOKENS, split), decoder(TOKENS)) <= TOLERANCE


def test_a_ring_rolls_back_or_refuses(*, ring: Callable[..., Ring] = Ring):
    decoder, n = Decoder(DecoderConfig(window=4), 0), 6
    for n_drafts in (1, 2, 3):
        cache = decoder.new_cache(CAPACITY, store=partial(ring, window=4, spare=1))
        feed(decoder, cache, TOKENS[:n])
        feed(decoder, cache, tokens_of(n_drafts, 8))
        try:
            cache.crop(n)
        except BadInput:
            assert n_drafts > 2
            continue
        assert gap(feed(decoder, cache, TOKENS[n:]), decoder(TOKENS)[n:]) <= TOLERANCE


def test_a_used_cache_is_as_good_as_a_new_one(*, store: MakeStorage = Contiguous):
    """Slots hold what an earlier text left there; nobody may read it before it is written."""
    decoder = Decoder(SIZES[0], 0)
    for n_earlier in (5, 20):
        cache = decoder.new_cache(CAPACITY, store=store)
        decoder(tokens_of(n_earlier, 8), cache)
        cache.crop(0)
        assert gap(feed(decoder, cache, TOKENS, (6,)), decoder(TOKENS)) <= TOLERANCE


def test_a_cache_holds_the_bytes_the_formula_says(
    *, attention: MakeAttention = Attention, ring: Callable[..., Any] = Ring
):
    for config in (DecoderConfig(), DecoderConfig(window=4), DecoderConfig(n_kv_heads=1)):
        decoder = Decoder(config, 0, attention=attention)
        store = partial(ring, window=config.window) if config.window else Contiguous
        cache = decoder.new_cache(CAPACITY, store=store)
        feed(decoder, cache, tokens_of(40, 5))
        assert cache.nbytes_held == config.cached_numbers(40) * torch.float64.itemsize


def test_a_padded_row_equals_the_row_alone(*, next_place: Callable[[Tensor], int] = next_place):
    """Positions by hand: the prompt counted without padding, the next ones as the rule says."""
    n_pads, n = 3, 6
    real = torch.arange(n_pads + N) >= n_pads
    seen = places(real[: n_pads + n])
    for slot in range(n_pads + n, n_pads + N):
        seen = torch.cat([seen, torch.tensor([next_place(real[:slot])])])
    decoder = Decoder(SIZES[0], 0, parts=Parts(positions=lambda _store, _new: seen))
    padded = torch.cat([torch.zeros(n_pads, dtype=torch.long), TOKENS])
    alone = Decoder(SIZES[0], 0)(TOKENS)
    assert gap(decoder(padded)[n_pads:], alone) <= TOLERANCE


def test_an_edited_prompt_gives_the_logits_of_a_fresh_cache(
    *, rows_to_keep: Callable[[Sequence[int], Sequence[int]], int] = rows_still_true
):
    decoder = Decoder(SIZES[0], 0)
    for edited in (0, 3, N - 1):
        before = TOKENS.clone()
        before[edited] = (before[edited] + 1) % 29
        cache = decoder.new_cache(CAPACITY)
        decoder(before, cache)
        n_kept = rows_to_keep(before.tolist(), TOKENS.tolist())
        cache.crop(n_kept)
        assert gap(decoder(TOKENS[n_kept:], cache), decoder(TOKENS)[n_kept:]) <= TOLERANCE


def test_a_cache_is_as_long_as_the_text_it_was_fed(
    *, pick: Callable[[Sequence[int], int], Sequence[int]] = unseen
):
    decoder = Decoder(SIZES[0], 0)
    cache = decoder.new_cache(N**2)
    for end in range(4, N + 1):
        decoder(torch.tensor(list(pick(TOKENS[:end].tolist(), cache.length))), cache)
        assert cache.length == end


def test_two_users_of_a_prefix_never_see_each_other(
    *, fork: Callable[[KVCache], KVCache] = KVCache.fork
):
    decoder, n = Decoder(SIZES[0], 0), 3
    prefix = decoder.new_cache(CAPACITY)
    decoder(TOKENS[:n], prefix)
    suffixes = TOKENS[n:], tokens_of(6, 8)
    users = [fork(prefix) for _ in suffixes]
    for user, suffix in zip(users, suffixes, strict=True):
        expected = decoder(torch.cat([TOKENS[:n], suffix]))[n:]
        assert gap(feed(decoder, user, suffix), expected) <= TOLERANCE
        assert user.length == n + len(suffix)
    assert prefix.length == n


def test_reordered_beams_continue_the_rows_they_were_given(
    *, beams: Callable[..., ForkedBeams] = ForkedBeams
):
    decoder, n = Decoder(SIZES[0], 0), 6
    prompts = [tokens_of(n, seed) for seed in (1, 2, 3)]
    for rows in ([1, 0, 2], [2, 2, 0], [1, 2, 0]):
        side_by_side = beams(decoder, lambda: decoder.new_cache(CAPACITY))
        side_by_side.caches = [decoder.new_cache(CAPACITY) for _ in prompts]
        for prompt, cache in zip(prompts, side_by_side.caches, strict=True):
            decoder(prompt, cache)
        side_by_side.reorder(torch.tensor(rows))
        found = side_by_side.step(torch.tensor([4, 5, 6]))
        for beam, origin in enumerate(rows):
            text = torch.cat([prompts[origin], torch.tensor([4 + beam])])
            assert gap(found[beam], decoder(text)[-1]) <= TOLERANCE


def test_a_gap_closes_in_a_wider_type(*, store: MakeStorage = Contiguous):
    """Rounding shrinks with the type; what stays is a bug, and shows in the number of rows."""
    gaps = []
    for dtype in (torch.float32, torch.float64):
        decoder = Decoder(SIZES[0], 0).to(dtype)

        def typed(room: Room, dtype: torch.dtype = dtype) -> Storage:
            return store(replace(room, dtype=dtype))

        cache = decoder.new_cache(CAPACITY, store=typed)
        gaps.append(gap(feed(decoder, cache, TOKENS, (6,)), decoder(TOKENS)))
        assert cache[0].read()[0].shape[-2] == N
    assert gaps[0] < 1e-4
    assert gaps[1] <= TOLERANCE
