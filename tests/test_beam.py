"""Beams swap places and their caches follow: every beam reads its own past, nobody else's."""

import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.beam import BeamConfig, BeamStep, ForkedBeams, Hypothesis, beam_search
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder
from model.errors import BadInput
from model.serving.paged import PagedPool
from model.serving.tables import BlockTables
from model.storage.base import Room
from model.storage.contiguous import Contiguous

VOCAB = 4
DECODER = Decoder(DecoderConfig(n_layers=2, vocab_size=VOCAB), seed=2)
PROMPT = [0, 1, 2, 3, 1]
CAPACITY = 32


def contiguous() -> KVCache:
    return DECODER.new_cache(CAPACITY)


def paged() -> KVCache:
    return PagedPool(DECODER.rooms(CAPACITY), BlockTables(400, 3)).open()


CACHES: dict[str, Callable[[], KVCache]] = {"contiguous": contiguous, "paged": paged}
every_cache = pytest.mark.parametrize("cache", CACHES)


def log_probability(tokens: tuple[int, ...]) -> float:
    """Score one continuation with no cache and no beams."""
    text = torch.tensor([*PROMPT, *tokens])
    laws = DECODER(text).log_softmax(-1)[len(PROMPT) - 1 : -1]
    return float(laws.gather(-1, torch.tensor(tokens)[:, None]).sum())


def search(cache: str, **config: object) -> tuple[list[Hypothesis], list[BeamStep]]:
    beams = ForkedBeams(DECODER, CACHES[cache])
    return beam_search(beams, PROMPT, BeamConfig(**config))  # type: ignore[arg-type]


@every_cache
@settings(max_examples=8)
@given(st.integers(1, 5), st.integers(1, 6))
def test_every_hypothesis_has_the_score_of_an_uncached_pass(cache: str, width: int, n: int):
    found, _ = search(cache, width=width, new_tokens=n)
    for hypothesis in found:
        expected = log_probability(hypothesis.tokens)
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-10)
    assert len({hypothesis.tokens for hypothesis in found}) == len(found)


@every_cache
def test_one_beam_is_greedy_decoding(cache: str):
    text = list(PROMPT)
    for _ in range(8):
        text.append(int(DECODER(torch.tensor(text))[-1].argmax()))
    found, _ = search(cache, width=1, new_tokens=8)
    assert list(found[0].tokens) == text[len(PROMPT) :]


@every_cache
def test_enough_beams_find_the_best_of_all_texts(cache: str):
    found, _ = search(cache, width=VOCAB**3, new_tokens=4)
    everything = itertools.product(range(VOCAB), repeat=4)
    best = max(everything, key=log_probability)
    assert found[0].tokens == best


@every_cache
def test_the_beams_really_change_places_here(cache: str):
    _, steps = search(cache, width=4, new_tokens=8)
    moved = [step.origins for step in steps[1:] if step.origins != tuple(range(4))]
    doubled = [origins for origins in moved if len(set(origins)) < len(origins)]
    assert moved, "otherwise the tests above prove nothing"
    assert doubled, "one beam has to be continued twice at least once"


def test_an_ended_beam_leaves_and_the_others_go_on():
    found, steps = search("contiguous", width=3, new_tokens=6, stop=frozenset({2}))
    for hypothesis in found:
        assert 2 not in hypothesis.tokens[:-1]
        assert hypothesis.tokens[-1] == 2 or len(hypothesis.tokens) == 6
    assert any(step.finished for step in steps)


def test_when_every_word_ends_a_beam_the_search_stops():
    found, steps = search("paged", width=3, new_tokens=9, stop=frozenset(range(VOCAB)))
    assert len(steps) == 1
    assert [len(hypothesis.tokens) for hypothesis in found] == [1, 1, 1]


def test_the_length_penalty_ranks_by_the_mean():
    found, _ = search("contiguous", width=4, new_tokens=6, stop=frozenset({2}), length_penalty=1.0)
    means = [hypothesis.log_probability / len(hypothesis.tokens) for hypothesis in found]
    assert means == sorted(means, reverse=True)


def test_paged_beams_give_back_what_dropped_beams_held():
    pool = PagedPool(DECODER.rooms(CAPACITY), BlockTables(400, 3))
    beams = ForkedBeams(DECODER, pool.open)
    beam_search(beams, PROMPT, BeamConfig(width=4, new_tokens=8))
    alone = 4 * pool.tables.blocks_for(len(PROMPT) + 7)
    assert pool.tables.pool.n_used < alone, "beams share their common beginning"
    for cache in beams.caches:
        cache.close()  # type: ignore[attr-defined]
    assert pool.tables.pool.n_used == 0


@pytest.mark.parametrize("rows", [[1, 0], [1, 1], [0, 0, 1]])
def test_reordering_a_batch_copies_rows_and_aliases_none(rows: list[int]):
    store = Contiguous(Room(kv_heads=1, d_key=2, d_value=2, capacity=4, batch=(2,)))
    first = torch.arange(4, dtype=torch.float64).reshape(2, 1, 1, 2)
    store.append(first, first)
    store.reorder(torch.tensor(rows))
    k, _ = store.read()
    assert torch.equal(k, first[rows])
    new = torch.arange(len(rows), dtype=torch.float64)[:, None, None, None].expand(-1, 1, 1, 2)
    k, _ = store.append(new, new)
    assert k[:, 0, 1, 0].tolist() == list(range(len(rows)))


def test_impossible_searches_are_refused():
    with pytest.raises(BadInput, match="0 beams"):
        BeamConfig(width=0, new_tokens=1)
    with pytest.raises(BadInput, match="0 tokens"):
        beam_search(ForkedBeams(DECODER, contiguous), [], BeamConfig(width=1, new_tokens=1))
