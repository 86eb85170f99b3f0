"""A draft changes how many passes a text takes, never which text is written, nor its law."""

import itertools
import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.chance import Chance, Seeded, exact_law
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter, PromptLookup, first_layers
from model.errors import BadInput
from model.sampling import Sampling
from model.speculation import (
    Draft,
    Drafter,
    Limits,
    Round,
    acceptance_rate,
    expected_speedup,
    expected_tokens,
    judge,
    residual,
    speculate,
)

TOLERANCE = 1e-12
VOCAB = 7
CAPACITY = 64
TARGET = Decoder(DecoderConfig(n_layers=3, vocab_size=VOCAB), seed=5)
STRANGER = Decoder(DecoderConfig(n_layers=1, n_heads=2, n_kv_heads=1, vocab_size=VOCAB), seed=9)
PROMPT = [1, 2, 3, 1, 2]


def law(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


class Tables:
    """A language model that is a rule: its logits depend on the last `order` tokens."""

    def __init__(self, seed: int, n_words: int, order: int = 2) -> None:
        self.seed, self.n_words, self.order = seed, n_words, order
        self.text: list[int] = []

    @property
    def length(self) -> int:
        return len(self.text)

    def logits(self, text: Sequence[int]) -> torch.Tensor:
        context = self.seed
        for token in text[-self.order :]:
            context = context * 31 + token + 1
        generator = torch.Generator().manual_seed(context)
        return torch.randn(self.n_words, dtype=torch.float64, generator=generator)

    def run(self, tokens: Sequence[int]) -> torch.Tensor:
        start = len(self.text)
        self.text += tokens
        ends = range(start + 1, len(self.text) + 1)
        return torch.stack([self.logits(self.text[:end]) for end in ends])

    def keep(self, n_tokens: int) -> None:
        del self.text[n_tokens:]


class TableDrafter(Tables):
    """Drafts from such a rule."""

    def __init__(self, seed: int, n_words: int, sampling: Sampling) -> None:
        super().__init__(seed, n_words)
        self.sampling = sampling

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        draft = Draft([], [])
        for _ in range(n):
            q = self.sampling.law(self.logits([*text, *draft.tokens]))
            draft.laws.append(q)
            draft.tokens.append(chance.choose(q))
        return draft


class Contrary:
    """Always drafts a word the target would not choose."""

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:  # noqa: ARG002
        wrong = [(plain_greedy(list(text), 1)[0] + 1) % VOCAB] * n
        return Draft(wrong, [torch.eye(VOCAB, dtype=torch.float64)[token] for token in wrong])

    def keep(self, n_tokens: int) -> None:
        pass


def plain_greedy(prompt: list[int], n: int, stop: frozenset[int] = frozenset()) -> list[int]:
    """Greedy decoding with no cache and no draft."""
    text = list(prompt)
    while len(text) < len(prompt) + n and not (len(text) > len(prompt) and text[-1] in stop):
        text.append(int(TARGET(torch.tensor(text))[-1].argmax()))
    return text[len(prompt) :]


def cached(decoder: Decoder) -> CachedModel:
    return CachedModel(decoder, decoder.new_cache(CAPACITY))


def drafters(sampling: Sampling) -> dict[str, Drafter]:
    return {
        "itself": ModelDrafter(cached(TARGET), sampling),
        "two of its layers": ModelDrafter(cached(first_layers(TARGET, 2)), sampling),
        "a stranger": ModelDrafter(cached(STRANGER), sampling),
        "prompt lookup": PromptLookup(VOCAB),
        "contrary": Contrary(),
    }


DRAFTERS = tuple(drafters(Sampling()))
every_drafter = pytest.mark.parametrize("name", DRAFTERS)
GREEDY = Sampling(temperature=0.0)


def seeded(seed: int = 0) -> Seeded:
    return Seeded(torch.Generator().manual_seed(seed))


def rounds(name: str, sampling: Sampling, limits: Limits, seed: int = 0) -> list[Round]:
    drafter = drafters(sampling)[name]
    target = cached(TARGET)
    return list(
        speculate(target, drafter, PROMPT, limits=limits, sampling=sampling, chance=seeded(seed))
    )


def joined(rounds: list[Round]) -> list[int]:
    return [token for one in rounds for token in one.tokens]


@every_drafter
@pytest.mark.parametrize("draft_tokens", [0, 1, 2, 4, 7])
def test_greedy_output_is_plain_greedy(name: str, draft_tokens: int):
    done = rounds(name, GREEDY, Limits(new_tokens=20, draft_tokens=draft_tokens))
    assert joined(done) == plain_greedy(PROMPT, 20)
    assert len(done) <= 20


def test_the_target_drafting_for_itself_is_never_refused():
    done = rounds("itself", GREEDY, Limits(new_tokens=20, draft_tokens=4))
    assert [len(one.tokens) for one in done] == [5, 5, 5, 5]
    done = rounds("itself", Sampling(), Limits(new_tokens=20, draft_tokens=4))
    assert all(one.accepted == len(one.drafted) for one in done)


def test_a_contrary_draft_costs_passes_but_no_words():
    done = rounds("contrary", GREEDY, Limits(new_tokens=9, draft_tokens=3))
    assert [one.accepted for one in done] == [0] * 9


@every_drafter
@settings(max_examples=8)
@given(st.integers(0, 5), st.integers(1, 12), st.sets(st.integers(0, VOCAB - 1), max_size=2))
def test_rows_are_right_after_every_round_at_stop_and_limit(
    name: str, draft_tokens: int, new_tokens: int, stop: set[int]
):
    for sampling in (GREEDY, Sampling(temperature=2.0)):
        drafter, target = drafters(sampling)[name], cached(TARGET)
        limits = Limits(new_tokens=new_tokens, draft_tokens=draft_tokens, stop=frozenset(stop))
        text, fed = list(PROMPT), 0
        for one in speculate(
            target, drafter, PROMPT, limits=limits, sampling=sampling, chance=seeded()
        ):
            text += one.tokens
            assert one.target_rows == target.length == len(text) - 1
            assert 0 <= one.accepted <= len(one.drafted) <= draft_tokens
            assert 1 <= len(one.tokens) <= one.accepted + 1
            if isinstance(drafter, ModelDrafter):
                if one.drafted:  # all but the last draft were fed; the refused ones are gone
                    fed = len(text) - len(one.tokens) + len(one.drafted) - 1
                assert drafter.model.length == min(fed, len(text) - 1)
        assert len(text) <= len(PROMPT) + new_tokens
        written = text[len(PROMPT) :]
        assert not set(written[:-1]) & stop, "nothing is written after a stop token"
        assert len(written) == new_tokens or written[-1] in stop
        if sampling is GREEDY:
            assert written == plain_greedy(PROMPT, new_tokens, frozenset(stop))


@pytest.mark.parametrize("stop_at", range(5))
def test_a_stop_token_inside_an_accepted_block_ends_the_text_there(stop_at: int):
    plain = plain_greedy(PROMPT, 5)
    stop = frozenset({plain[stop_at]})
    expected = plain[: plain.index(plain[stop_at]) + 1]
    (one,) = rounds("itself", GREEDY, Limits(new_tokens=20, draft_tokens=6, stop=stop))
    assert list(one.tokens) == expected
    assert one.accepted == 6
    assert one.target_rows == len(PROMPT) + len(expected) - 1


def test_a_length_limit_inside_a_block_shortens_the_draft():
    done = rounds("itself", GREEDY, Limits(new_tokens=7, draft_tokens=4))
    assert [(len(one.drafted), len(one.tokens)) for one in done] == [(4, 5), (1, 2)]


@every_drafter
def test_the_cache_after_a_rollback_is_the_cache_of_plain_decoding(name: str):
    drafter, target = drafters(GREEDY)[name], cached(TARGET)
    limits = Limits(new_tokens=15, draft_tokens=3)
    text = list(PROMPT)
    for one in speculate(target, drafter, PROMPT, limits=limits, sampling=GREEDY, chance=seeded()):
        text += one.tokens
        sides = [(TARGET, target)]
        if isinstance(drafter, ModelDrafter):
            sides.append((drafter.model.decoder, drafter.model))
        for decoder, side in sides:
            fresh = cached(decoder)
            fresh.run(text[: side.length])
            for kept, plain in zip(side.cache.stores, fresh.cache.stores, strict=True):
                for x, y in zip(kept.read(), plain.read(), strict=True):
                    torch.testing.assert_close(x, y, rtol=0, atol=1e-11)


def test_after_full_acceptance_the_draft_is_fed_the_row_it_lacks():
    drafter = ModelDrafter(cached(TARGET), GREEDY)
    draft = drafter.propose(PROMPT, 4, seeded())
    assert drafter.model.length == len(PROMPT) + 3, "the last draft was written, never fed"
    text = [*PROMPT, *draft.tokens, plain_greedy([*PROMPT, *draft.tokens], 1)[0]]
    drafter.keep(len(text) - 1)
    drafter.propose(text, 1, seeded())
    assert drafter.model.length == len(text)


SAMPLINGS = {
    "as it is": Sampling(),
    "cool": Sampling(temperature=0.5),
    "top-k": Sampling(top_k=2),
    "nucleus": Sampling(top_p=0.6),
    "greedy": GREEDY,
}


def plain_law(target: Tables, n_tokens: int, sampling: Sampling) -> dict[tuple[int, ...], float]:
    """Joint law of the next tokens, multiplied out word by word."""
    result = {}
    for words in itertools.product(range(target.n_words), repeat=n_tokens):
        probability = 1.0
        for i, word in enumerate(words):
            p = sampling.law(target.logits([0, 1, *words[:i]]))
            probability *= float(p[word])
        if probability:
            result[words] = probability
    return result


def assert_same_law(one: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]):
    assert sum(one.values()) == pytest.approx(1, abs=TOLERANCE)
    for words in one.keys() | other.keys():
        difference = abs(one.get(words, 0.0) - other.get(words, 0.0))
        assert difference <= TOLERANCE, words


@pytest.mark.parametrize("draft_tokens", [0, 1, 2, 3])
@pytest.mark.parametrize("n_words", [2, 3])
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_the_law_of_three_words_is_the_targets_by_enumeration(
    sampling: Sampling, n_words: int, draft_tokens: int
):
    def run(chance: Chance) -> tuple[int, ...]:
        drafter = TableDrafter(2, n_words, Sampling(temperature=1.5))
        done = speculate(
            Tables(1, n_words),
            drafter,
            [0, 1],
            limits=Limits(new_tokens=3, draft_tokens=draft_tokens),
            sampling=sampling,
            chance=chance,
        )
        return tuple(joined(list(done)))

    assert_same_law(exact_law(run), plain_law(Tables(1, n_words), 3, sampling))


def test_the_law_with_prompt_lookup_is_the_targets_by_enumeration():
    def run(chance: Chance) -> tuple[int, ...]:
        done = speculate(
            Tables(1, 3),
            PromptLookup(3),
            [0, 1],
            limits=Limits(new_tokens=3, draft_tokens=2),
            sampling=Sampling(),
            chance=chance,
        )
        return tuple(joined(list(done)))

    assert_same_law(exact_law(run), plain_law(Tables(1, 3), 3, Sampling()))


PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6).filter(
    lambda rows: sum(p for p, _ in rows) > 0.1 and sum(q for _, q in rows) > 0.1
)


@given(PAIRS)
def test_one_word_follows_p_whatever_q_is(rows: list[tuple[float, float]]):
    p, q = (law(*column) / sum(column) for column in zip(*rows, strict=True))

    def run(chance: Chance) -> tuple[int, ...]:
        token = chance.choose(q)
        accepted, following = judge(Draft([token], [q]), [p, p], chance)
        return (token if accepted else following,)

    emitted = exact_law(run)
    expected = {(i,): float(x) for i, x in enumerate(p) if x > 0}
    assert_same_law(emitted, expected)


@given(PAIRS)
def test_the_acceptance_rate_is_the_mass_both_laws_share(rows: list[tuple[float, float]]):
    p, q = (law(*column) / sum(column) for column in zip(*rows, strict=True))

    def run(chance: Chance) -> int:
        token = chance.choose(q)
        return judge(Draft([token], [q]), [p, p], chance)[0]

    assert exact_law(run).get(1, 0.0) == pytest.approx(acceptance_rate(p, q), abs=TOLERANCE)
    variation = float((p - q).abs().sum()) / 2
    assert acceptance_rate(p, q) == pytest.approx(1 - variation, abs=TOLERANCE)


def test_the_worked_example_is_reproduced():
    p, q = law(0.5, 0.3, 0.2), law(0.2, 0.6, 0.2)
    assert acceptance_rate(p, q) == pytest.approx(0.7)
    assert residual(p, q).tolist() == [1.0, 0.0, 0.0]
    torch.testing.assert_close(residual(law(0.6, 0.3, 0.1), law(0.2, 0.5, 0.3)), law(1, 0, 0))
    assert torch.equal(residual(p, p), p)


def test_judging_leaves_the_laws_as_they_were():
    p, q = law(0.5, 0.3, 0.2), law(0.1, 0.8, 0.1)
    judge(Draft([1], [q]), [p, p], seeded(1))
    assert p.tolist() == [0.5, 0.3, 0.2]
    assert q.tolist() == [0.1, 0.8, 0.1]


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_tokens_a_round_are_the_closed_form_when_contexts_do_not_matter(gamma: int):
    p, q = law(0.5, 0.3, 0.2), law(0.2, 0.6, 0.2)

    def run(chance: Chance) -> int:
        tokens = [chance.choose(q) for _ in range(gamma)]
        accepted, _ = judge(Draft(tokens, [q] * gamma), [p] * (gamma + 1), chance)
        return accepted + 1

    counted = sum(n * weight for n, weight in exact_law(run).items())
    a = acceptance_rate(p, q)
    assert counted == pytest.approx(expected_tokens(a, gamma), abs=TOLERANCE)
    assert counted == pytest.approx((1 - a ** (gamma + 1)) / (1 - a), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("a", "gamma", "expected"),
    [(0.8, 4, 3.3616), (0.8, 5, 3.6893), (0.7, 4, 2.7731), (0.6, 4, 2.3056), (0.9, 4, 4.0951)],
)
def test_worked_expectations_are_reproduced(a: float, gamma: int, expected: float):
    assert expected_tokens(a, gamma) == pytest.approx(expected, abs=5e-5)


def test_worked_speedups_are_reproduced():
    assert expected_tokens(1.0, 4) == 5
    assert expected_tokens(0.0, 4) == 1
    assert expected_speedup(0.8, 5, 0.05) == pytest.approx(2.951, abs=5e-4)
    best = {c: max(range(40), key=lambda g: expected_speedup(0.8, g, c)) for c in (0.02, 0.1, 0.2)}
    assert best == {0.02: 11, 0.1: 6, 0.2: 4}


@settings(max_examples=5)
@given(st.integers(0, 2**31))
def test_the_same_seed_writes_the_same_text(seed: int):
    limits = Limits(new_tokens=10, draft_tokens=3)
    one, again = (rounds("a stranger", Sampling(), limits, seed) for _ in range(2))
    assert one == again


def test_prompt_lookup_continues_the_longest_ending_seen_before():
    propose = PromptLookup(VOCAB, longest=3).propose
    assert propose([1, 2, 3, 4, 1, 2], 3, seeded()).tokens == [3, 4, 1]
    assert propose([3, 5, 2, 5, 1, 2, 5], 1, seeded()).tokens == [1]
    assert propose([1, 2, 3], 4, seeded()).tokens == []
    assert propose([], 4, seeded()).tokens == []


def test_enumeration_visits_every_possible_result_once():
    def run(chance: Chance) -> tuple[int, bool]:
        word = chance.choose(law(0.25, 0.0, 0.75))
        return word, chance.happens(0.5) if word else False

    exact = exact_law(run)
    assert exact == {(0, False): 0.25, (2, False): 0.375, (2, True): 0.375}
    assert math.fsum(exact.values()) == 1


REFUSED = {
    "no prompt": lambda: next(
        speculate(
            cached(TARGET),
            PromptLookup(VOCAB),
            [],
            limits=Limits(new_tokens=1, draft_tokens=1),
            sampling=GREEDY,
            chance=seeded(),
        )
    ),
    "no new tokens": lambda: Limits(new_tokens=0, draft_tokens=1),
    "negative drafts": lambda: Limits(new_tokens=1, draft_tokens=-1),
    "too many layers": lambda: first_layers(TARGET, 4),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_runs_are_refused_with_numbers(case: str):
    with pytest.raises(BadInput, match=r"\d"):
        REFUSED[case]()
