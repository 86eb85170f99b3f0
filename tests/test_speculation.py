"""A draft changes how many passes a text takes, never which text is written, nor its law."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.chance import Chance, Seeded, exact_law
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter, PromptLookup
from model.errors import BadInput
from model.ngrams import NGramDrafter, NGrams
from model.sampling import Sampling
from model.speculation import (
    Draft,
    Drafter,
    Limits,
    Round,
    Target,
    acceptance_rate,
    expected_speedup,
    expected_tokens,
    judge,
    residual,
    speculate,
)
from model.speculation_record import law_gap
from model.toy.cache import Forgetful
from model.toy.masks import causal
from model.toy.translating import DRAFTERS as TOY_DRAFTERS
from model.toy.translating import MakeDrafter, Translating, exactness, sentence_of

TOLERANCE = 1e-12
VOCAB = 7
CAPACITY = 64
TARGET = Decoder(DecoderConfig(n_layers=3, vocab_size=VOCAB), seed=5)
STRANGER = Decoder(DecoderConfig(n_layers=1, n_heads=2, n_kv_heads=1, vocab_size=VOCAB), seed=9)


def law(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


class Tables:
    """A language model that is a rule: its logits depend on the last `order` tokens."""

    def __init__(self, seed: int, n_words: int, order: int = 2) -> None:
        self.seed, self.n_words, self.order = seed, n_words, order
        self.text: list[int] = []

    @property
    def rows(self) -> int:
        return len(self.text)

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

    rows = 0

    def __init__(self, case: "Case") -> None:
        self.case = case

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:  # noqa: ARG002
        allowed = (self.case.uncached(self.case.prompt)[-1] > -torch.inf).nonzero().flatten()
        best = plain_greedy(self.case, list(text), 1)[0]
        wrong = [next(int(token) for token in allowed if token != best)] * n
        return Draft(wrong, [torch.eye(self.case.vocab, dtype=torch.float64)[t] for t in wrong])

    def keep(self, n_tokens: int) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Case:
    """A target made afresh, what may draft for it, and the same model without any cache."""

    prompt: list[int]
    vocab: int
    target: Callable[[], Target]
    uncached: Callable[[list[int]], torch.Tensor]
    drafters: dict[str, Callable[[Sampling], Drafter]]


def cached(decoder: Decoder) -> CachedModel:
    return CachedModel(decoder, decoder.new_cache(CAPACITY))


def first_layers(decoder: Decoder, n_layers: int) -> Decoder:
    """A smaller model that tends to agree: the first layers of a decoder."""
    smaller = Decoder(replace(decoder.config, n_layers=n_layers), seed=0)
    names = smaller.state_dict().keys()
    smaller.load_state_dict({k: v for k, v in decoder.state_dict().items() if k in names})
    return smaller


def decoder_case() -> Case:
    return Case(
        prompt=[1, 2, 3, 1, 2],
        vocab=VOCAB,
        target=lambda: cached(TARGET),
        uncached=lambda text: TARGET(torch.tensor(text)),
        drafters={
            "itself": lambda sampling: ModelDrafter(cached(TARGET), sampling),
            "two of its layers": lambda sampling: ModelDrafter(cached(SHALLOW), sampling),
            "a stranger": lambda sampling: ModelDrafter(cached(STRANGER), sampling),
            "prompt lookup": lambda _: PromptLookup(VOCAB),
            "n-grams": lambda sampling: NGramDrafter(GRAMS, torch.ones(VOCAB) > 0, sampling),
            "contrary": lambda _: Contrary(CASES["decoder"]),
        },
    )


def toy_case() -> Case:
    sentence = sentence_of("The black cat sees a white bird, and I do not like the old house.")
    limits = Limits(new_tokens=20, draft_tokens=7)
    vocab = len(sentence.source.allowed)

    def uncached(text: list[int]) -> torch.Tensor:
        network, n = sentence.network, len(text)
        cross = network.project_memory(sentence.source.memory)
        nothing = [Forgetful() for _ in cross]
        decoded = network.decode(torch.tensor(text), slice(0, n), nothing, cross, causal(n, n))
        return network.logits(decoded.y).masked_fill(~sentence.source.allowed, -torch.inf)

    def itself(sampling: Sampling) -> ModelDrafter:
        return ModelDrafter(sentence.target(limits), sampling)

    def by(make: MakeDrafter) -> Callable[[Sampling], Drafter]:
        return lambda sampling: make(sentence, sampling, limits)

    return Case(
        prompt=sentence.prompt,
        vocab=vocab,
        target=lambda: sentence.target(limits),
        uncached=uncached,
        drafters={
            "itself": itself,
            **{name: by(make) for name, make in TOY_DRAFTERS.items()},
            "prompt lookup": lambda _: PromptLookup(vocab),
            "contrary": lambda _: Contrary(CASES["toy"]),
        },
    )


def plain_greedy(
    case: Case, prompt: list[int], n: int, stop: frozenset[int] = frozenset()
) -> list[int]:
    """Greedy decoding with no cache and no draft."""
    text = list(prompt)
    while len(text) < len(prompt) + n and not (len(text) > len(prompt) and text[-1] in stop):
        text.append(int(case.uncached(text)[-1].argmax()))
    return text[len(prompt) :]


SHALLOW = first_layers(TARGET, 2)
GRAMS = NGrams([[1, 2, 3, 1, 2, 5, 6, 1, 2, 3, 0, 4]], VOCAB)
with torch.inference_mode():
    CASES: dict[str, Case] = {"decoder": decoder_case(), "toy": toy_case()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_pair = pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in CASES.values() for name in case.drafters],
    ids=[f"{which}-{name}" for which, case in CASES.items() for name in case.drafters],
)
GREEDY = Sampling(temperature=0.0)
DECODER = CASES["decoder"]


def seeded(seed: int = 0) -> Seeded:
    return Seeded(torch.Generator().manual_seed(seed))


@torch.inference_mode()
def rounds(case: Case, name: str, sampling: Sampling, limits: Limits, seed: int = 0) -> list[Round]:
    target, drafter = case.target(), case.drafters[name](sampling)
    made = speculate(
        target, drafter, case.prompt, limits=limits, sampling=sampling, chance=seeded(seed)
    )
    return list(made)


def joined(rounds: list[Round]) -> list[int]:
    return [token for one in rounds for token in one.tokens]


@every_pair
@pytest.mark.parametrize("draft_tokens", [0, 1, 2, 4, 7])
def test_greedy_output_is_plain_greedy(case: Case, name: str, draft_tokens: int):
    done = rounds(case, name, GREEDY, Limits(new_tokens=20, draft_tokens=draft_tokens))
    assert joined(done) == plain_greedy(case, case.prompt, 20)
    assert len(done) <= 20


@every_case
def test_the_target_drafting_for_itself_is_never_refused(case: Case):
    done = rounds(case, "itself", GREEDY, Limits(new_tokens=20, draft_tokens=4))
    assert [len(one.tokens) for one in done] == [5, 5, 5, 5]
    done = rounds(case, "itself", Sampling(), Limits(new_tokens=20, draft_tokens=4))
    assert all(one.accepted == len(one.drafted) for one in done)


@every_case
def test_a_contrary_draft_costs_passes_but_no_words(case: Case):
    done = rounds(case, "contrary", GREEDY, Limits(new_tokens=9, draft_tokens=3))
    assert [one.accepted for one in done] == [0] * 9


@every_pair
@settings(max_examples=8)
@given(st.integers(0, 5), st.integers(1, 12), st.sets(st.integers(0, VOCAB - 1), max_size=2))
@torch.inference_mode()
def test_rows_are_right_after_every_round_at_stop_and_limit(
    case: Case, name: str, draft_tokens: int, new_tokens: int, stop: set[int]
):
    for sampling in (GREEDY, Sampling(temperature=2.0)):
        drafter, target = case.drafters[name](sampling), case.target()
        limits = Limits(new_tokens=new_tokens, draft_tokens=draft_tokens, stop=frozenset(stop))
        text, fed = list(case.prompt), 0
        for one in speculate(
            target, drafter, case.prompt, limits=limits, sampling=sampling, chance=seeded()
        ):
            text += one.tokens
            assert one.target_rows == target.length == len(text) - 1
            assert 0 <= one.accepted <= len(one.drafted) <= draft_tokens
            assert 1 <= len(one.tokens) <= one.accepted + 1
            if isinstance(drafter, ModelDrafter):
                if one.drafted:  # all but the last draft were fed; the refused ones are gone
                    fed = len(text) - len(one.tokens) + len(one.drafted) - 1
                assert one.draft_rows == drafter.model.length == min(fed, len(text) - 1)
        assert len(text) <= len(case.prompt) + new_tokens
        written = text[len(case.prompt) :]
        assert not set(written[:-1]) & stop, "nothing is written after a stop token"
        assert len(written) == new_tokens or written[-1] in stop
        if sampling is GREEDY:
            assert written == plain_greedy(case, case.prompt, new_tokens, frozenset(stop))


@every_case
@pytest.mark.parametrize("stop_at", range(5))
def test_a_stop_token_inside_an_accepted_block_ends_the_text_there(case: Case, stop_at: int):
    plain = plain_greedy(case, case.prompt, 5)
    stop = frozenset({plain[stop_at]})
    expected = plain[: plain.index(plain[stop_at]) + 1]
    (one,) = rounds(case, "itself", GREEDY, Limits(new_tokens=20, draft_tokens=6, stop=stop))
    assert list(one.tokens) == expected
    assert one.accepted == 6
    assert one.target_rows == len(case.prompt) + len(expected) - 1


@every_case
def test_nothing_is_drafted_after_a_stop_token(case: Case):
    plain = plain_greedy(case, case.prompt, 3)
    drafters = [ModelDrafter(case.target(), GREEDY, frozenset({plain[2]}))]
    counts = NGrams([[*case.prompt, *plain]], case.vocab, longest=6)
    everything = torch.ones(case.vocab) > 0
    drafters += [NGramDrafter(counts, everything, GREEDY, frozenset({plain[2]}))]
    for drafter in drafters:
        with torch.inference_mode():
            assert drafter.propose(case.prompt, 9, seeded()).tokens == plain


@every_case
def test_a_length_limit_inside_a_block_shortens_the_draft(case: Case):
    done = rounds(case, "itself", GREEDY, Limits(new_tokens=7, draft_tokens=4))
    assert [(len(one.drafted), len(one.tokens)) for one in done] == [(4, 5), (1, 2)]


def rows_of(side: Target) -> list[torch.Tensor]:
    """Every row a model keeps."""
    if isinstance(side, CachedModel):
        return [rows for store in side.cache.stores for rows in store.read()]
    assert isinstance(side, Translating)
    return [rows for store in side.caches for rows in store.kept]


def afresh(side: Target) -> Target:
    """The same model with nothing in its cache."""
    if isinstance(side, CachedModel):
        return cached(side.decoder)
    assert isinstance(side, Translating)
    return Translating(side.network, side.source, CAPACITY)


@every_pair
@torch.inference_mode()
def test_the_cache_after_a_rollback_is_the_cache_of_plain_decoding(case: Case, name: str):
    drafter, target = case.drafters[name](GREEDY), case.target()
    limits = Limits(new_tokens=15, draft_tokens=3)
    text = list(case.prompt)
    for one in speculate(
        target, drafter, case.prompt, limits=limits, sampling=GREEDY, chance=seeded()
    ):
        text += one.tokens
        sides = [target, *([drafter.model] if isinstance(drafter, ModelDrafter) else [])]
        for side in sides:
            fresh = afresh(side)
            fresh.run(text[: side.length])
            for kept, plain in zip(rows_of(side), rows_of(fresh), strict=True):
                torch.testing.assert_close(kept, plain, rtol=0, atol=1e-11)


@torch.inference_mode()
def test_rolling_back_leaves_the_rows_of_the_source_alone():
    target = CASES["toy"].target()
    assert isinstance(target, Translating)
    before = [(one.k.clone(), one.v.clone()) for one in target.cross]
    target.run([1, 5, 6, 7])
    target.keep(2)
    assert target.length == 2
    for (k, v), kept in zip(before, target.cross, strict=True):
        assert torch.equal(k, kept.k)
        assert torch.equal(v, kept.v)


@every_case
def test_after_full_acceptance_the_draft_is_fed_the_row_it_lacks(case: Case):
    drafter, prompt = ModelDrafter(case.target(), GREEDY), case.prompt
    with torch.inference_mode():
        draft = drafter.propose(prompt, 4, seeded())
        assert drafter.rows == len(prompt) + 3, "the last draft was written, never fed"
        read = [*prompt, *draft.tokens]
        text = [*read, *plain_greedy(case, read, 1)]
        drafter.keep(len(text) - 1)
        drafter.propose(text, 1, seeded())
        assert drafter.rows == len(text)


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
