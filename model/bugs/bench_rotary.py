"""Benches for a rule of rotation, which sees nothing but rows, positions and a base."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.attention.heads import Parts
from model.bugs.bench_decoder import (
    CAPACITY,
    CONFIG,
    N_PROMPT,
    SEED,
    TOKENS,
    observed,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bug import Gauge, Observed
from model.decoder import Decoder

Rotate = Callable[
    [Float[Tensor, "heads new d_head"], Int[Tensor, " new"], float],
    Float[Tensor, "heads new d_head"],
]
SHIFT, FAR = 7, 250


def turning(rotate: Rotate, shift: int = 0) -> Decoder:
    """Make the decoder with this rule, everything standing `shift` places further."""
    moved = replace(Parts(), rotate=lambda x, at, base: rotate(x, at + shift, base))
    return Decoder(CONFIG, SEED, parts=moved)


def same_rule_in_both(rotate: Rotate) -> Observed:
    """Run cached and uncached with the same rule; the gauge moves the text along."""
    decoder = turning(rotate)
    expected = recompute(decoder, TOKENS)
    moved = recompute(turning(rotate, SHIFT), TOKENS)
    change = float((moved - expected).abs().max())
    return observed(
        expected,
        read(decoder, decoder.new_cache(CAPACITY), TOKENS),
        gauges=[Gauge(f"change of a logit when the text moves {SHIFT} places", change)],
    )


def long_context(rotate: Rotate) -> Observed:
    """Run past the length at which a rule may change; a recompute turns all keys alike."""
    decoder = turning(rotate)
    found = read(decoder, decoder.new_cache(CAPACITY), TOKENS)
    ends = range(N_PROMPT, len(TOKENS) + 1)
    return observed(torch.stack([decoder(TOKENS[:end])[-1] for end in ends]), found)


def far_out(rotate: Rotate) -> Observed:
    """Run a text that begins at place 250; where it begins must not matter."""
    decoder = turning(rotate, FAR)
    found = read(decoder, decoder.new_cache(CAPACITY), TOKENS)
    return observed(recompute(right_decoder(), TOKENS), found)
