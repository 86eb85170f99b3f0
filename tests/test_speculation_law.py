"""Whatever drafts, the law of the written text is the target's: by enumeration."""

import itertools
import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.chance import Chance, exact_law
from model.drafters import PromptLookup
from model.errors import BadInput
from model.sampling import Sampling
from model.speculation import (
    Draft,
    Limits,
    acceptance_rate,
    expected_speedup,
    expected_tokens,
    judge,
    residual,
    speculate,
)
from model.speculation_record import law_gap
from model.toy.translating import DRAFTERS as TOY_DRAFTERS
from model.toy.translating import exactness, sentence_of
from tests.oracles.speculating import (
    DECODER,
    GREEDY,
    TARGET,
    TOLERANCE,
    VOCAB,
    TableDrafter,
    Tables,
    cached,
    joined,
    law,
    rounds,
    seeded,
)

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


NARROW = {
    "two likeliest": Sampling(top_k=2),
    "warm": Sampling(temperature=4.0, top_k=2),
    "nucleus": Sampling(temperature=3.0, top_p=0.5),
}


@pytest.mark.parametrize("name", TOY_DRAFTERS)
@pytest.mark.parametrize("sampling", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize("draft_tokens", [1, 2])
def test_the_law_of_the_toys_first_words_is_kept_by_enumeration(
    name: str, sampling: Sampling, draft_tokens: int
):
    found = exactness(
        sentence_of("I love you"), name, sampling, n_words=2, draft_tokens=draft_tokens
    )
    assert found["texts"] > 1
    assert found["total"] == pytest.approx(1, abs=TOLERANCE)
    assert found["gap"] <= TOLERANCE


def test_a_draft_law_that_is_not_the_one_drawn_from_shows_in_the_enumeration():
    """What the enumeration is for: a ratio with another q moves the law far beyond rounding."""

    class Boasting(TableDrafter):
        def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
            draft = super().propose(text, n, chance)
            return Draft(draft.tokens, [(q * q) / (q * q).sum() for q in draft.laws])

    for make, limit in ((TableDrafter, 0.0), (Boasting, 1e-3)):
        found = law_gap(
            lambda: Tables(1, 3),
            lambda make=make: make(2, 3, Sampling()),
            [0, 1],
            limits=Limits(new_tokens=2, draft_tokens=1),
            sampling=Sampling(),
        )
        assert (found["gap"] > TOLERANCE) == (limit > 0)
        assert found["gap"] >= limit


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
    one, again = (rounds(DECODER, "a stranger", Sampling(), limits, seed) for _ in range(2))
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
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_runs_are_refused_with_numbers(case: str):
    with pytest.raises(BadInput, match=r"\d"):
        REFUSED[case]()
