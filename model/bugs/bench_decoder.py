"""The bench: a decoder with RoPE and 4 query heads on 2 key/value heads, 2 layers, float64.

A prompt of 6 tokens, then 10 more, the same whatever the decoder would have said: every step
of a wrong run is compared with that step of a full recompute.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.attention.heads import Attention, Parts
from model.bugs.bug import Bench, Gauge, Observed
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder

CONFIG = DecoderConfig()
WINDOWED = DecoderConfig(window=4)
SEED, N_PROMPT, N_TOKENS, CAPACITY = 4, 6, 16, 40
ONE_BY_ONE = (1,) * N_PROMPT
WORDS = tuple(f"token {i}" for i in range(CONFIG.vocab_size))

Tokens = Int[Tensor, " tokens"]
Logits = Float[Tensor, "steps vocab"]


def random_tokens(n_tokens: int, seed: int) -> Tokens:
    """Draw token ids; equal seeds give equal tokens."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, CONFIG.vocab_size, (n_tokens,), generator=generator)


TOKENS = random_tokens(N_TOKENS, seed=2)


def read(
    decoder: Decoder, cache: KVCache, tokens: Tokens, chunks: Sequence[int] = (N_PROMPT,)
) -> Logits:
    """Feed the prompt in chunks and the rest one by one; logits after the prompt and each."""
    singles = [1] * (len(tokens) - sum(chunks))
    logits = [decoder(piece, cache)[-1] for piece in tokens.split([*chunks, *singles])]
    return torch.stack(logits[len(chunks) - 1 :])


@cache
def right_decoder(config: DecoderConfig = CONFIG) -> Decoder:
    """The decoder with the right parts, made once: what a run keeps is in its cache."""
    return Decoder(config, SEED)


def recompute(decoder: Decoder, tokens: Tokens, n_prompt: int = N_PROMPT) -> Logits:
    """The same logits from one pass without any cache: the oracle."""
    return decoder(tokens)[n_prompt - 1 :]


def observed(
    expected: Logits, found: Logits, tokens: Tokens = TOKENS, gauges: Sequence[Gauge] = ()
) -> Observed:
    """Name the steps after the tokens they read."""
    fed = tuple(WORDS[int(token)] for token in tokens[-len(found) :])
    return Observed(expected, found, WORDS, ("the prompt", *fed[1:]), tuple(gauges))


def with_part(
    seam: str, config: DecoderConfig = CONFIG, chunks: Sequence[int] = (N_PROMPT,)
) -> Bench:
    """Bench for one of `Parts`: it goes into the cached run, the oracle has the right ones."""

    def bench(piece: Any) -> Observed:
        decoder = Decoder(config, SEED, parts=replace(Parts(), **{seam: piece}))
        found = read(decoder, decoder.new_cache(CAPACITY), TOKENS, chunks)
        return observed(recompute(right_decoder(config), TOKENS), found)

    return bench


def with_store(
    make: Callable[[Any], Callable[[Any], Any]] = lambda piece: piece,
    config: DecoderConfig = CONFIG,
    chunks: Sequence[int] = (N_PROMPT,),
    gauges: Callable[[KVCache], Sequence[Gauge]] = lambda _cache: (),
) -> Bench:
    """Bench for a kind of store; `make` turns the piece into a maker of one per layer."""

    def bench(piece: Any) -> Observed:
        decoder = right_decoder(config)
        cache = decoder.new_cache(CAPACITY, store=make(piece))
        found = read(decoder, cache, TOKENS, chunks)
        return observed(recompute(decoder, TOKENS), found, gauges=gauges(cache))

    return bench


def with_attention(gauges: Callable[[KVCache], Sequence[Gauge]]) -> Bench:
    """Bench for a whole attention layer."""

    def bench(piece: type[Attention]) -> Observed:
        decoder = Decoder(CONFIG, SEED, attention=piece)
        cache = decoder.new_cache(CAPACITY)
        found = read(decoder, cache, TOKENS)
        return observed(recompute(right_decoder(), TOKENS), found, gauges=gauges(cache))

    return bench
