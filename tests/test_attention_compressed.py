"""DeepSeek-V4.1-Flash's scheme: decoded as it is prefilled, replayed exactly, 890 bytes a token."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.compressed.cache import CompressedCache
from model.attention.compressed.config import (
    FLASH,
    INDEX_ROW,
    MAIN_ROW,
    WINDOW_ROW,
    CompressedConfig,
)
from model.attention.compressed.decoder import CompressedDecoder
from model.attention.compressed.entries import Compressor, EntryWriter
from model.attention.compressed.layer import CompressedAttention
from model.errors import BadInput
from model.rope import pairs, rotate, unrotate
from model.storage.codecs.blocks import Fp4, Mx
from model.storage.codecs.minifloat import E2M1, E4M3
from model.storage.quantised import Quantised
from model.storage.ring import Ring

TOY = CompressedConfig()
DECODER = CompressedDecoder(TOY, seed=3)
N = 23
TOKENS = torch.randint(0, 29, (N,), generator=torch.Generator().manual_seed(1))
LOSSY = {
    "rows": partial(Quantised, key=Fp4(block=8), value=Mx(E2M1, block=4)),
    "window": partial(
        Quantised, key=Mx(E4M3, block=4), value=Mx(E4M3, block=4), rows=partial(Ring, window=3)
    ),
}
CACHES = {"exact": {}, "four-bit": LOSSY}


def one_entry(compress: Compressor, x: Tensor) -> Tensor:
    """Weigh a complete group by hand, channel by channel."""
    rows, gates = x @ compress.row.weight.T, x @ compress.gate.weight.T
    return compress.norm((torch.exp(gates) * rows).sum(0) / torch.exp(gates).sum(0))


def entries_by_hand(writer: EntryWriter, x: Tensor) -> list[tuple[Tensor, Tensor]]:
    found = []
    for g in range(len(x) // writer.ratio):
        group = x[g * writer.ratio : (g + 1) * writer.ratio]
        if isinstance(writer.compress, Compressor):
            raw = one_entry(writer.compress, group)
        else:
            raw = writer.compress.norm(x[g] @ writer.compress.row.weight.T)
        key = writer.index_norm(raw @ writer.index_key.weight.T)
        place = g * writer.ratio
        found.append((turned(raw, place, 160_000.0), turned(key, place, 160_000.0)))
    return found


def turned(row: Tensor, place: int, base: float, *, back: bool = False) -> Tensor:
    turn = unrotate if back else rotate
    tail = turn(row[None, None, -4:], torch.tensor([place]), base, pairs)[0, 0]
    return torch.cat([row[:-4], tail])


def choose_by_hand(layer: CompressedAttention, x: Tensor, t: int, keys: list[Tensor]) -> list:
    """Score every complete entry and sort: pairs of (score, entry)."""
    latent = layer.query_norm(x[t] @ layer.query_down.weight.T)
    queries = (latent @ layer.indexer.query.weight.T).reshape(2, 4)
    weights = x[t] @ layer.indexer.weight.weight.T / (4 * 2) ** 0.5
    scores = []
    for g in range((t + 1) // layer.ratio):
        dots = [max(float(turned(q, t, 160_000.0) @ keys[g]), 0.0) for q in queries]
        scores.append(float(weights[0]) * dots[0] + float(weights[1]) * dots[1])
    return sorted(((score, g) for g, score in enumerate(scores)), key=lambda s: (-s[0], s[1]))


def attend_by_hand(layer: CompressedAttention, x: Tensor, t: int, entries: list[Tensor]) -> Tensor:
    rows = list(entries)
    for j in range(max(0, t - 2), t + 1):
        row = layer.window_norm(x[j] @ layer.window_row.weight.T)
        rows.append(turned(row, j, layer.base))
    latent = layer.query_norm(x[t] @ layer.query_down.weight.T)
    low = []
    for head, q in enumerate((latent @ layer.query_up.weight.T).reshape(2, 8)):
        logits = torch.stack([turned(q, t, layer.base) @ row / 8**0.5 for row in rows])
        weights = logits.exp() / (logits.exp().sum() + layer.sink[head].exp())
        mixed = (weights[:, None] * torch.stack(rows)).sum(dim=0)
        down = layer.output_down.get_parameter(f"{head}.weight")
        low.append(turned(mixed, t, layer.base, back=True) @ down.T)
    return torch.cat(low) @ layer.output_up.weight.T


def logits_by_hand(decoder: CompressedDecoder, tokens: Tensor) -> Tensor:
    """The whole scheme, one token and one layer at a time, with lists for stores."""
    x = decoder.ends.rows(tokens)
    entries, chosen, blocks = [], {}, {}
    for n in range(TOY.n_layers):
        block = decoder.block(n)
        layer, normed = block.attention, block.attention_norm(x)
        if layer.kind == "full":
            entries = entries_by_hand(layer.writer, normed)
        if layer.kind in {"full", "reindex"}:
            for t in range(len(tokens)):
                ranked = choose_by_hand(layer, normed, t, [key for _, key in entries])
                if n == TOY.candidate_source:
                    order = list(dict.fromkeys(g // 3 for _, g in ranked))
                    blocks[t] = order[:2]
                elif n > TOY.candidate_source:
                    ranked = [(s, g) for s, g in ranked if g // 3 in blocks[t]]
                chosen[t] = [g for _, g in ranked[:3]]
        read = [[entries[g][0] for g in chosen[t]] if layer.ratio else [] for t in range(len(x))]
        mixed = [attend_by_hand(layer, normed, t, read[t]) for t in range(len(x))]
        x = x + torch.stack(mixed)
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return decoder.ends.logits(x)


def test_the_layers_do_what_the_scheme_written_with_loops_does():
    by_hand = logits_by_hand(DECODER, TOKENS)
    assert float((DECODER(TOKENS) - by_hand).abs().max()) <= 1e-11


@pytest.mark.parametrize("stores", CACHES.values(), ids=CACHES)
@settings(max_examples=12)
@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=8))
def test_decoding_in_any_pieces_equals_the_full_pass(stores: dict, sizes: list[int]):
    whole = DECODER(TOKENS, CompressedCache(TOY, N, **stores))
    cache = CompressedCache(TOY, N, **stores)
    logits, start = [], 0
    while start < N:
        size = sizes[len(logits) % len(sizes)]
        logits.append(DECODER(TOKENS[start : start + size], cache))
        start += size
    assert float((torch.cat(logits) - whole).abs().max()) <= 1e-11
    if not stores:
        assert float((whole - DECODER(TOKENS)).abs().max()) <= 1e-11


@settings(max_examples=10)
@given(n=st.integers(1, N))
def test_an_owner_holds_one_entry_for_every_complete_group(n: int):
    cache = DECODER.new_cache(N)
    for token in TOKENS[:n].split(1):
        DECODER(token, cache)
    assert {owner: store.length for owner, store in cache.entries.items()} == {1: n // 2, 3: n}
    assert cache.length == n


@settings(max_examples=12)
@given(t=st.integers(0, N - 1))
def test_a_later_token_changes_nothing_before_it(t: int):
    edited = TOKENS.clone()
    edited[t] = (edited[t] + 1) % 29
    change = (DECODER(edited) - DECODER(TOKENS)).abs().amax(dim=-1)
    assert (change[:t] <= 1e-12).all()
    assert change[t] > 1e-6


def recorded(decoder: CompressedDecoder) -> dict[str, Tensor]:
    heard: dict[str, Tensor] = {}
    decoder(TOKENS, None, heard.__setitem__)
    return heard


def test_reuse_repeats_the_choice_of_its_source_and_reindex_makes_its_own():
    heard = recorded(DECODER)
    assert torch.equal(heard["layers.2.chosen"], heard["layers.1.chosen"])
    assert torch.equal(heard["layers.5.chosen"], heard["layers.4.chosen"])
    assert not torch.equal(heard["layers.4.chosen"], heard["layers.3.chosen"])
    assert "layers.0.chosen" not in heard


def test_no_query_takes_more_than_top_k_or_an_incomplete_entry():
    heard = recorded(DECODER)
    complete = torch.arange(1, N + 1)
    for layer, ratio in ((1, 2), (3, 1), (4, 1)):
        chosen = heard[f"layers.{layer}.chosen"]
        latest = torch.where(chosen, torch.arange(chosen.shape[1]), -1).amax(dim=-1)
        assert (chosen.sum(dim=-1) <= 3).all()
        assert (latest < complete // ratio).all()
        if layer != 4:  # a reindexing layer has its candidates only
            assert torch.equal(chosen.sum(dim=-1), (complete // ratio).clamp(max=3))


def test_a_choice_of_everything_makes_the_indexer_irrelevant():
    wide = replace(TOY, top_k=N, n_candidate_blocks=N)
    one, other = CompressedDecoder(wide, seed=3), CompressedDecoder(wide, seed=3)
    for layer in TOY.index_sources:
        other.block(layer).attention.indexer.query.weight.neg_()
    assert torch.equal(one(TOKENS), other(TOKENS))
    assert not torch.equal(DECODER(TOKENS), one(TOKENS))


def test_a_replay_is_exact_from_the_reach_of_the_upper_windows_on():
    full = DECODER(TOKENS)[-1]
    errors = [float((DECODER.replay(TOKENS, n)[-1] - full).abs().max()) for n in range(1, N + 1)]
    reach = 3 * (TOY.window - 1) + 1
    assert max(errors[reach - 1 :]) <= 1e-11
    assert min(errors[: reach - 1]) > 1e-6


def test_decoding_goes_on_after_a_replay():
    cache = DECODER.new_cache(N)
    DECODER.replay(TOKENS[:18], 12, cache)
    after = torch.cat([DECODER(token, cache) for token in TOKENS[18:].split(1)])
    assert cache.length == N
    assert float((after - DECODER(TOKENS)[18:]).abs().max()) <= 1e-11


def test_a_replay_of_more_than_the_prompt_is_refused():
    with pytest.raises(BadInput, match="replay of 24 tokens"):
        DECODER.replay(TOKENS, N + 1)


def test_forks_are_apart_and_rollback_restores_or_refuses():
    cache, alone = DECODER.new_cache(40), DECODER.new_cache(40)
    DECODER(TOKENS[:9], cache)
    DECODER(TOKENS[:9], alone)
    fork = cache.fork()
    DECODER(TOKENS[9:15], cache)
    assert torch.equal(DECODER(TOKENS[9:], fork), DECODER(TOKENS[9:], alone))
    fork.crop(N - 1)
    again = DECODER(TOKENS[N - 1 :], fork)
    assert float((again - DECODER(TOKENS)[-1]).abs().max()) <= 1e-11
    with pytest.raises(BadInput, match="cannot roll back 4 tokens"):
        fork.crop(N - 4)
    assert fork.length == N


def test_the_released_stack_has_its_four_kinds_of_layers():
    kinds = [FLASH.kind(layer) for layer in range(40)]
    assert [kinds.count(kind) for kind in ("window", "full", "reindex", "reuse")] == [2, 4, 4, 30]
    assert FLASH.n_encoder == 20
    assert [FLASH.kv_owner(layer) for layer in (2, 7, 8, 19, 39)] == [2, 2, 8, 14, 20]


def test_the_real_caches_measure_890_bytes_a_token():
    rows = partial(Quantised, key=MAIN_ROW, value=INDEX_ROW)
    ring = partial(Ring, window=FLASH.window)
    window = partial(Quantised, key=WINDOW_ROW, value=WINDOW_ROW, rows=ring)
    cache = CompressedCache(FLASH, 1024, rows=rows, window=window)
    assert cache.entry_bytes == 890 * 1024
    assert FLASH.bytes_per_token(MAIN_ROW, INDEX_ROW) == 890
    assert sum(store.nbytes for store in cache.windows) == FLASH.window_bytes(WINDOW_ROW)
    assert FLASH.window_bytes(WINDOW_ROW) == 2_703_360
    main = FLASH.entries_per_token * MAIN_ROW.row_bytes(512)
    assert (main, 890 - main) == (720, 170)
    assert Fraction(21 * (584 + 68), 4) + Fraction(20 * 584, 128) == Fraction("3514.25")


def test_toy_bytes_are_entries_times_their_rows():
    cache = DECODER.new_cache(N + 1)
    assert cache.entry_bytes == (N + 1) * float(TOY.entries_per_token) * (8 + 4) * 8


def test_layers_without_an_owner_are_refused():
    with pytest.raises(BadInput, match="layer 0 reads entries but the first owner is 1"):
        replace(TOY, compress_ratios=(2, 2, 2, 1, 1, 1))
    with pytest.raises(BadInput, match="layer 2 wants entries of 4"):
        replace(TOY, compress_ratios=(0, 2, 4, 1, 1, 1))
