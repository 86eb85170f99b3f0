"""A draft changes how many passes a text takes, never which text is written, nor its law."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.drafters import CachedModel, ModelDrafter
from model.ngrams import NGramDrafter, NGrams
from model.sampling import Sampling
from model.speculation import (
    Limits,
    Target,
    speculate,
)
from model.toy.translating import Translating
from tests.oracles.speculating import (
    CAPACITY,
    CASES,
    GREEDY,
    VOCAB,
    Case,
    cached,
    every_case,
    every_pair,
    joined,
    plain_greedy,
    rounds,
    seeded,
)


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
