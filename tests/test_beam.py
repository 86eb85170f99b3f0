"""Beams swap places and their caches follow: every beam reads its own past, nobody else's."""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from app.runs import EXAMPLES, trace_of
from figures.beams import MOST_STEPS, searched
from figures.recording import shown
from model.beam import BeamConfig, Beams, BeamStep, ForkedBeams, Hypothesis, beam_search
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder
from model.errors import BadInput
from model.serving.paged import PagedPool
from model.serving.tables import BlockTables
from model.storage.base import Room
from model.storage.contiguous import Contiguous
from model.toy.arithmetic import tensor_of
from model.toy.cache import Forgetful
from model.toy.config import ToyConfig
from model.toy.masks import causal
from model.toy.searching import BLOCK_SIZE, WIDTHS, ToyBeams, pages, slabs
from model.toy.translating import Reader, Sentence, sentence_of

VOCAB = 4
DECODER = Decoder(DecoderConfig(n_layers=2, vocab_size=VOCAB), seed=2)
PROMPT = [0, 1, 2, 3, 1]
CAPACITY = 32
EXACT = 1e-11
SENTENCES = (*EXAMPLES[:2], EXAMPLES[6], "x")


def contiguous() -> KVCache:
    return DECODER.new_cache(CAPACITY)


def paged() -> KVCache:
    return PagedPool(DECODER.rooms(CAPACITY), BlockTables(400, 3)).open()


CACHES: dict[str, Callable[[], KVCache]] = {"contiguous": contiguous, "paged": paged}


@dataclass(frozen=True)
class Searchable:
    """A model with beams, and what it says after a text when it keeps nothing."""

    beams: Callable[[], Beams]
    prompt: list[int]
    logits: Callable[[Sequence[int]], Tensor]
    vocabulary: tuple[int, ...]
    exhaustive_words: int


def decoder(cache: str) -> Searchable:
    return Searchable(
        beams=lambda: ForkedBeams(DECODER, CACHES[cache]),
        prompt=PROMPT,
        logits=lambda text: DECODER(torch.tensor(text))[-1],
        vocabulary=tuple(range(VOCAB)),
        exhaustive_words=4,
    )


def toy(text: str, kept: str) -> Searchable:
    sentence = sentence_of(text)
    source, network = sentence.source, sentence.network
    config, n_texts = network.config, network.parameters.unembed.shape[-1]
    new_cache = {
        "slabs": slabs(config, CAPACITY),
        "pages": pages(config, CAPACITY, n_texts).open,
    }

    def logits(words: Sequence[int]) -> Tensor:
        n, nothing = len(words), [Forgetful()] * config.n_layers
        memory = network.project_memory(source.memory)
        read = network.decode(tensor_of(list(words)), slice(0, n), nothing, memory, causal(n, n))
        return network.logits(read.y[-1:])[0].masked_fill(~source.allowed, -torch.inf)

    return Searchable(
        beams=lambda: ToyBeams(Reader(network, source), new_cache[kept]),
        prompt=sentence.prompt,
        logits=logits,
        vocabulary=tuple(source.allowed.nonzero()[:, 0].tolist()),
        exhaustive_words=2,
    )


MODELS: dict[str, Callable[[], Searchable]] = {
    "decoder, contiguous": functools.cache(lambda: decoder("contiguous")),
    "decoder, paged": functools.cache(lambda: decoder("paged")),
    "toy, slabs": functools.cache(lambda: toy(EXAMPLES[1], "slabs")),
    "toy, pages": functools.cache(lambda: toy(EXAMPLES[1], "pages")),
}
every_model = pytest.mark.parametrize("model", MODELS)


def log_probability(model: Searchable, tokens: Sequence[int]) -> float:
    """Score one continuation with no cache and no beams, word by word."""
    text, total = list(model.prompt), 0.0
    for token in tokens:
        total += float(model.logits(text).log_softmax(-1)[token])
        text.append(token)
    return total


class Recomputed:
    """Beams that compare every logit with a pass over the beam's whole text from scratch."""

    def __init__(self, model: Searchable) -> None:
        self.model, self.beams = model, model.beams()
        self.texts: list[list[int]] = []
        self.n_compared = 0

    def start(self, prompt: Sequence[int]) -> Tensor:
        self.texts = [list(prompt)]
        return self.compared(self.beams.start(prompt))

    def reorder(self, rows: Tensor) -> None:
        self.texts = [list(self.texts[row]) for row in rows.tolist()]
        self.beams.reorder(rows)

    def step(self, tokens: Tensor) -> Tensor:
        for text, token in zip(self.texts, tokens.tolist(), strict=True):
            text.append(token)
        return self.compared(self.beams.step(tokens))

    def compared(self, logits: Tensor) -> Tensor:
        expected = torch.stack([self.model.logits(text) for text in self.texts])
        torch.testing.assert_close(logits, expected, rtol=0, atol=EXACT)
        self.n_compared += len(logits)
        return logits


def search(
    model: Searchable, beams: Beams | None = None, **config: Any
) -> tuple[list[Hypothesis], list[BeamStep]]:
    with torch.inference_mode():
        return beam_search(beams or model.beams(), model.prompt, BeamConfig(**config))


@every_model
@settings(max_examples=6)
@given(width=st.integers(1, 5), n=st.integers(1, 6))
def test_every_beam_at_every_step_says_what_a_pass_from_scratch_says(
    model: str, width: int, n: int
):
    beams = Recomputed(MODELS[model]())
    _, steps = search(beams.model, beams, width=width, new_tokens=n)
    assert beams.n_compared == 1 + sum(len(step.live) for step in steps[:-1])


@pytest.mark.parametrize("text", SENTENCES)
def test_beams_of_a_reader_s_sentence_say_what_a_pass_from_scratch_says(text: str):
    beams = Recomputed(toy(text, "pages"))
    end = frozenset({sentence_of(text).source.end})
    search(beams.model, beams, width=3, new_tokens=8, stop=end)
    assert beams.n_compared > 3


@every_model
@settings(max_examples=6)
@given(width=st.integers(1, 5), n=st.integers(1, 6))
def test_every_hypothesis_has_the_score_of_an_uncached_pass(model: str, width: int, n: int):
    one = MODELS[model]()
    found, steps = search(one, width=width, new_tokens=n)
    for hypothesis in (*found, *(live for step in steps for live in step.live)):
        expected = log_probability(one, hypothesis.tokens)
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-10)
    assert len({hypothesis.tokens for hypothesis in found}) == len(found)


@every_model
def test_one_beam_is_greedy_decoding(model: str):
    one = MODELS[model]()
    text = list(one.prompt)
    for _ in range(8):
        text.append(int(one.logits(text).argmax()))
    found, _ = search(one, width=1, new_tokens=8)
    assert list(found[0].tokens) == text[len(one.prompt) :]


@every_model
def test_enough_beams_find_the_best_of_all_texts(model: str):
    one = MODELS[model]()
    n = one.exhaustive_words
    beginnings = list(itertools.product(one.vocabulary, repeat=n - 1))
    found, _ = search(one, width=len(beginnings), new_tokens=n)
    best = max(log_probability(one, text) + _last(one, text) for text in beginnings)
    assert found[0].log_probability == pytest.approx(best, abs=1e-10)
    assert len(found) == len(beginnings)


def _last(model: Searchable, text: tuple[int, ...]) -> float:
    return float(model.logits([*model.prompt, *text]).log_softmax(-1).max())


@every_model
def test_the_beams_really_change_places_here(model: str):
    _, steps = search(MODELS[model](), width=4, new_tokens=8)
    moved = [step.origins for step in steps[1:] if step.origins != tuple(range(4))]
    doubled = [origins for origins in moved if len(set(origins)) < len(origins)]
    assert moved, "otherwise the tests above prove nothing"
    assert doubled, "one beam has to be continued twice at least once"


def test_an_ended_beam_leaves_and_the_others_go_on():
    found, steps = search(decoder("contiguous"), width=3, new_tokens=6, stop=frozenset({2}))
    for hypothesis in found:
        assert 2 not in hypothesis.tokens[:-1]
        assert hypothesis.tokens[-1] == 2 or len(hypothesis.tokens) == 6
    assert any(step.finished for step in steps)


def test_when_every_word_ends_a_beam_the_search_stops():
    found, steps = search(decoder("paged"), width=3, new_tokens=9, stop=frozenset(range(VOCAB)))
    assert len(steps) == 1
    assert [len(hypothesis.tokens) for hypothesis in found] == [1, 1, 1]


def test_the_length_penalty_ranks_by_the_mean():
    found, _ = search(
        decoder("contiguous"), width=4, new_tokens=6, stop=frozenset({2}), length_penalty=1.0
    )
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


def tellings(text: str) -> dict[str, Any]:
    return searched(trace_of(text))["searched"]


every_sentence = pytest.mark.parametrize("text", SENTENCES)


@every_sentence
def test_the_record_s_words_and_sums_are_those_of_the_search(text: str):
    sentence, trace = sentence_of(text), trace_of(text)
    for width in WIDTHS:
        told = tellings(text)[str(width)]
        found, steps = search_toy(sentence, width)
        assert len(told["steps"]) == len(steps)
        for one, step in zip(told["steps"], steps, strict=True):
            beams = (*step.live, *step.finished)
            assert [beam["total"] for beam in one["beams"]] == [b.log_probability for b in beams]
            assert [b["origin"] for b in one["beams"] if not b["ended"]] == list(step.origins)
        spelt = [[shown(trace, trace.vocabulary[t]) for t in one.tokens] for one in found]
        assert [one["words"] for one in told["ranked"]["0"]] == spelt


def search_toy(sentence: Sentence, width: int) -> tuple[list[Hypothesis], list[BeamStep]]:
    """Search with caches that are copied whole; the record has them in blocks."""
    source = sentence.source
    reader = Reader(sentence.network, source)
    beams = ToyBeams(reader, slabs(sentence.network.config, CAPACITY))
    config = BeamConfig(width=width, new_tokens=source.max_written, stop=sentence.stop)
    with torch.inference_mode():
        return beam_search(beams, sentence.prompt, config)


@every_sentence
def test_what_a_beam_has_is_what_it_had_and_what_its_word_adds(text: str):
    for told in tellings(text).values():
        before = [0.0]
        for step in told["steps"]:
            for beam in step["beams"]:
                total = before[beam["origin"]] + beam["gain"]
                assert beam["total"] == pytest.approx(total, abs=1e-12)
            before = [beam["total"] for beam in step["beams"] if not beam["ended"]]


@every_sentence
def test_one_beam_writes_the_words_of_the_page(text: str):
    trace = trace_of(text)
    told = tellings(text)["1"]
    assert told["ranked"]["0"][0]["words"] == [shown(trace, word) for word in trace.words]
    assert told["greedy"] == {"0": True, "1": True}


@every_sentence
def test_the_ranking_follows_the_score_it_names(text: str):
    for told in tellings(text).values():
        for penalty, best_first in told["ranked"].items():
            scores = [one["total"] / len(one["words"]) ** int(penalty) for one in best_first]
            assert scores == sorted(scores, reverse=True)
            assert scores == pytest.approx([one["scores"][penalty] for one in best_first])


@every_sentence
def test_a_block_two_beams_hold_is_of_a_beginning_both_have(text: str):
    for told in tellings(text).values():
        texts: list[list[str]] = [["start"]]
        for step in told["steps"]:
            going = [beam for beam in step["beams"] if not beam["ended"]]
            texts = [[*texts[beam["origin"]], beam["word"]] for beam in going]
            for one, other in itertools.combinations(range(len(going) * bool(step["move"])), 2):
                tables = [step["move"]["blocks"][i] for i in (one, other)]
                for j, (a, b) in enumerate(zip(*tables, strict=True)):
                    if a == b:
                        end = (j + 1) * BLOCK_SIZE
                        assert texts[one][:end] == texts[other][:end]


@every_sentence
def test_rows_moved_are_counted_as_told(text: str):
    """A gather copies every row of every beam; tables copy all but one of a shared open block."""
    for told in tellings(text).values():
        for n_rows, step in enumerate(told["steps"], 1):
            if (move := step["move"]) is None:
                continue
            going = sum(not beam["ended"] for beam in step["beams"])
            assert move["gathered"] == going * n_rows
            assert {len(table) for table in move["blocks"]} == {n_rows // BLOCK_SIZE + 1}
            tails = [table[-1] for table in move["shared"]]
            copies = len(tails) - len(set(tails)) if n_rows % BLOCK_SIZE else 0
            assert sum(move["copied"]) == copies
            assert move["copied_rows"] == copies * BLOCK_SIZE
            assert len({table[-1] for table in move["blocks"]}) == going


def test_the_slider_reaches_as_far_as_a_search_may_go():
    assert ToyConfig().max_written == MOST_STEPS
