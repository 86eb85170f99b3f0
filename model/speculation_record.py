"""Speculative decoding written down round by round: plain data."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from model.chance import Chance, Law, Seeded, exact_law
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel
from model.sampling import Sampling
from model.speculation import Draft, Drafter, Limits, Round, Target, expected_tokens, speculate

GREEDY = Sampling(temperature=0.0)
MakeTarget = Callable[[], Target]
MakeDrafter = Callable[[], Drafter]


class Told:
    """A chance that remembers with what probability each looked-at draft was to stand."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.odds: list[float] = []

    def happens(self, probability: float) -> bool:
        self.odds.append(probability)
        return self.chance.happens(probability)

    def choose(self, law: Law) -> int:
        return self.chance.choose(law)


def record_speculation(  # noqa: PLR0913 - what a speculation is a function of
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    *,
    limits: Limits,
    sampling: Sampling,
    seed: int,
) -> dict[str, Any]:
    """Write with drafts and tell every round.

    acceptance: the share of looked-at drafts that stood (drafts after a refused one are not
    looked at). expected: the closed form for that share; tokens_a_pass: what was counted.
    odds: min(1, p / q) of each looked-at draft. rows, draft_rows: in the caches of target and
    drafter after the round.
    """
    chance = Told(Seeded(torch.Generator().manual_seed(seed)))
    rounds, told = [], []
    with torch.inference_mode():
        for one in speculate(
            target, drafter, prompt, limits=limits, sampling=sampling, chance=chance
        ):
            rounds.append(one)
            told.append(_told(one, chance.odds))
            chance.odds = []
    n_tokens, share = sum(len(one.tokens) for one in rounds), accepted_share(rounds)
    return {
        "rounds": told,
        "n_tokens": n_tokens,
        "tokens_a_pass": n_tokens / len(rounds),
        "acceptance": share,
        "expected": expected_tokens(share, limits.draft_tokens),
    }


def accepted_share(rounds: list[Round]) -> float:
    """Return accepted drafts over drafts looked at."""
    accepted = sum(one.accepted for one in rounds)
    refused = sum(one.accepted < len(one.drafted) for one in rounds)
    return accepted / (accepted + refused) if accepted + refused else 0.0


def _told(one: Round, odds: list[float]) -> dict[str, Any]:
    return {
        "drafted": list(one.drafted),
        "accepted": one.accepted,
        "tokens": list(one.tokens),
        "rows": one.target_rows,
        "draft_rows": one.draft_rows,
        "odds": odds,
    }


def write_plainly(
    target: Target, prompt: Sequence[int], *, limits: Limits, sampling: Sampling, chance: Chance
) -> list[int]:
    """Decode with the cache and no drafts, one token a pass."""
    written: list[int] = []
    feed = list(prompt)
    while len(written) < limits.new_tokens:
        written.append(chance.choose(sampling.law(target.run(feed))[-1]))
        if written[-1] in limits.stop:
            break
        feed = written[-1:]
    return written


def law_gap(
    make_target: MakeTarget,
    make_drafter: MakeDrafter,
    prompt: Sequence[int],
    *,
    limits: Limits,
    sampling: Sampling,
) -> dict[str, float]:
    """Enumerate every random decision of a speculation and of plain decoding; compare the laws.

    Returns the number of texts, the sum of their probabilities, and the largest difference
    between any text's two probabilities.
    """

    def drafted(chance: Chance) -> tuple[int, ...]:
        rounds = speculate(
            make_target(), make_drafter(), prompt, limits=limits, sampling=sampling, chance=chance
        )
        return tuple(token for one in rounds for token in one.tokens)

    def plain(chance: Chance) -> tuple[int, ...]:
        return tuple(
            write_plainly(make_target(), prompt, limits=limits, sampling=sampling, chance=chance)
        )

    with torch.inference_mode():
        one, other = exact_law(drafted), exact_law(plain)
    gaps = [abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in one.keys() | other.keys()]
    return {"texts": len(other), "total": sum(one.values()), "gap": max(gaps)}


def rows_after_refusal(*, rows: int, drafts: int, stand: int) -> int:
    """Rows a cache of `rows` has after a round in which `stand` of `drafts` drafts stood."""

    class Partly:
        """Drafts the target's own next tokens, and after `stand` of them other ones."""

        rows = 0

        def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
            own = write_plainly(
                CachedModel(decoder, decoder.new_cache(len(text) + n)),
                text,
                limits=Limits(new_tokens=n, draft_tokens=0),
                sampling=GREEDY,
                chance=chance,
            )
            tokens = [x if i < stand else (x + 1) % vocab for i, x in enumerate(own)]
            laws = torch.nn.functional.one_hot(torch.tensor(tokens), vocab).double()
            return Draft(tokens, list(laws))

        def keep(self, n_tokens: int) -> None:
            """Hold no cache."""

    config = DecoderConfig()
    decoder, vocab = Decoder(config, 0), config.vocab_size
    target = CachedModel(decoder, decoder.new_cache(rows + drafts + 2))
    prompt = [i % vocab for i in range(rows + 1)]
    limits = Limits(new_tokens=drafts + 2, draft_tokens=drafts)
    with torch.inference_mode():
        rounds = speculate(
            target,
            Partly(),
            prompt,
            limits=limits,
            sampling=GREEDY,
            chance=Seeded(torch.Generator().manual_seed(0)),
        )
        return next(rounds).target_rows
