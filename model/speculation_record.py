"""Speculative decoding written down round by round, beside plain decoding: plain data."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from model.chance import Chance, Seeded, exact_law
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter, PromptLookup, first_layers
from model.sampling import Sampling, greedy
from model.speculation import Draft, Drafter, Limits, Round, expected_tokens, speculate

GREEDY = Sampling(temperature=0.0)
MakeDrafter = Callable[[Decoder, Sampling, int], Drafter]


def by_lookup(decoder: Decoder, sampling: Sampling, capacity: int) -> Drafter:  # noqa: ARG001 - looks up only
    """Draft from the text itself."""
    return PromptLookup(decoder.config.vocab_size)


def by_first_layers(n_layers: int) -> MakeDrafter:
    """Draft with the first layers of the target."""
    smaller_of = cache(first_layers)  # an enumeration asks for it a thousand times

    def make(decoder: Decoder, sampling: Sampling, capacity: int) -> Drafter:
        smaller = smaller_of(decoder, n_layers)
        return ModelDrafter(CachedModel(smaller, smaller.new_cache(capacity)), sampling)

    return make


def record_speculation(
    decoder: Decoder, prompt: list[int], make: MakeDrafter, limits: Limits
) -> dict[str, Any]:
    """Write greedily with drafts; tell every round, and whether plain greedy wrote the same.

    acceptance: the share of looked-at drafts that stood (drafts after a refused one are not
    looked at). expected: the closed form for that share; tokens_a_pass: what was counted.
    """
    capacity = len(prompt) + limits.new_tokens + limits.draft_tokens + 1
    target = CachedModel(decoder, decoder.new_cache(capacity))
    with torch.inference_mode():
        rounds = list(
            speculate(
                target,
                make(decoder, GREEDY, capacity),
                prompt,
                limits=limits,
                sampling=GREEDY,
                chance=Seeded(torch.Generator().manual_seed(0)),
            )
        )
        plain = write_greedily(decoder, prompt, limits.new_tokens)
    text = [token for one in rounds for token in one.tokens]
    share = accepted_share(rounds)
    return {
        "rounds": [_told(one) for one in rounds],
        "tokens_a_pass": len(text) / len(rounds),
        "acceptance": share,
        "expected": expected_tokens(share, limits.draft_tokens),
        "same": text == plain,
        "n_tokens": len(text),
    }


def accepted_share(rounds: list[Round]) -> float:
    """Return accepted drafts over drafts looked at."""
    accepted = sum(one.accepted for one in rounds)
    refused = sum(one.accepted < len(one.drafted) for one in rounds)
    return accepted / (accepted + refused) if accepted + refused else 0.0


def write_greedily(decoder: Decoder, prompt: list[int], n: int) -> list[int]:
    """Plain decoding with a cache, one token a pass."""
    model = CachedModel(decoder, decoder.new_cache(len(prompt) + n))
    written, feed = [], prompt
    for _ in range(n):
        written.append(int(greedy(model.run(feed)[-1])))
        feed = written[-1:]
    return written


def law_gap(
    config: DecoderConfig, seed: int, make: MakeDrafter, prompt: list[int], limits: Limits
) -> dict[str, float]:
    """Enumerate every random decision of a sampled speculation; compare with the target's law.

    Returns the number of texts, the sum of their probabilities, and the largest difference
    of any text's probability from the product of the target's own.
    """
    decoder, sampling = Decoder(config, seed), Sampling()
    capacity = len(prompt) + limits.new_tokens + limits.draft_tokens + 1

    def run(chance: Chance) -> tuple[int, ...]:
        target = CachedModel(decoder, decoder.new_cache(capacity))
        drafter = make(decoder, sampling, capacity)
        rounds = speculate(target, drafter, prompt, limits=limits, sampling=sampling, chance=chance)
        return tuple(token for one in rounds for token in one.tokens)

    with torch.inference_mode():
        emitted = exact_law(run)
        gaps = [abs(p - _probability(decoder, prompt, text)) for text, p in emitted.items()]
    return {"texts": len(emitted), "total": sum(emitted.values()), "gap": max(gaps)}


def _probability(decoder: Decoder, prompt: list[int], text: tuple[int, ...]) -> float:
    laws = decoder(torch.tensor([*prompt, *text[:-1]])).softmax(dim=-1)[len(prompt) - 1 :]
    return float(torch.stack([law[token] for law, token in zip(laws, text, strict=True)]).prod())


def _told(one: Round) -> dict[str, Any]:
    return {
        "drafted": list(one.drafted),
        "accepted": one.accepted,
        "tokens": list(one.tokens),
        "rows": one.target_rows,
    }


def rows_after_refusal(*, rows: int, drafts: int, stand: int) -> int:
    """Rows a cache of `rows` has after a round in which `stand` of `drafts` drafts stood."""

    class Partly:
        """Drafts the target's own next tokens, and after `stand` of them other ones."""

        def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:  # noqa: ARG002 - certain
            own = write_greedily(decoder, list(text), n)
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
