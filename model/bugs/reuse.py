"""Caches kept from a text that has changed since, or fed what they already hold."""

from collections.abc import Callable, Sequence

import torch

from model.bugs.bench_decoder import (
    CONFIG,
    N_PROMPT,
    TOKENS,
    observed,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bug import Bug, Gauge, Observed

LAWS = "tests/test_cache_laws.py::"
ROOM = len(TOKENS) ** 2


def same_length(kept: Sequence[int], wanted: Sequence[int]) -> int:
    """Trust the length: an edited word leaves as many tokens as there were."""
    return min(len(kept), len(wanted) - 1)


def everything(tokens: Sequence[int], n_cached: int) -> Sequence[int]:  # noqa: ARG001 - the bug
    """Feed the whole text, as one did before there was a cache."""
    return tokens


def edited(rows_to_keep: Callable[[Sequence[int], Sequence[int]], int]) -> Observed:
    """Bench: the first token of a cached prompt is edited, and the cache goes on being used."""
    decoder = right_decoder()
    cache = decoder.new_cache(ROOM)
    before = TOKENS[:N_PROMPT].clone()
    before[0] = (before[0] + 1) % CONFIG.vocab_size
    decoder(before, cache)
    n_kept = rows_to_keep(before.tolist(), TOKENS[:N_PROMPT].tolist())
    cache.crop(n_kept)
    found = read(decoder, cache, TOKENS[n_kept:], [N_PROMPT - n_kept])
    gauge = Gauge("rows kept of the old prompt", n_kept)
    return observed(recompute(decoder, TOKENS), found, gauges=[gauge])


def refed(pick: Callable[[Sequence[int], int], Sequence[int]]) -> Observed:
    """Bench: at each step the caller has the whole text at hand and decides what to feed."""
    decoder = right_decoder()
    cache = decoder.new_cache(ROOM)
    text = TOKENS.tolist()
    logits, lengths = [], []
    for end in range(N_PROMPT, len(text) + 1):
        feed = list(pick(text[:end], cache.length))
        logits.append(decoder(torch.tensor(feed), cache)[-1])
        lengths.append(cache.length)
    gauge = Gauge("cache length after each step", ", ".join(map(str, lengths)))
    return observed(recompute(decoder, TOKENS), torch.stack(logits), gauges=[gauge])


BUGS = {
    "stale-prefix": Bug(
        id="stale-prefix",
        title="The prompt was edited, the cache was not",
        story=(
            "A program keeps the cache of a conversation and asks only whether the new text is "
            "as long as the old one. Somebody has changed the first word. Every row after it was "
            "made from a word that is no longer there, in all layers but the first."
        ),
        source="Lightning-AI/litgpt#1593",
        step="the-cache-step-by-step#so-keep-them",
        fix="Keep the rows up to the first token that differs, and no other.",
        right="model.reuse:rows_still_true",
        twin="model.bugs.reuse:same_length",
        seam="rows_to_keep",
        bench=edited,
        caught_by=f"{LAWS}test_an_edited_prompt_gives_the_logits_of_a_fresh_cache",
    ),
    "fed-twice": Bug(
        id="fed-twice",
        title="The whole text, and the cache as well",
        story=(
            "Before there was a cache the model was given the whole text at each step. With a "
            "cache it still is, and appends all of it again behind what it holds. The answer "
            "drifts, and the cache grows like a triangle until it is full."
        ),
        source="huggingface/transformers#1749",
        step="the-cache-step-by-step#so-keep-them",
        fix="Feed only the tokens the cache has no rows of.",
        right="model.reuse:unseen",
        twin="model.bugs.reuse:everything",
        seam="pick",
        bench=refed,
        caught_by=f"{LAWS}test_a_cache_is_as_long_as_the_text_it_was_fed",
    ),
}
