"""Quantisers that group the wrong numbers, or one number at a time."""

from dataclasses import replace
from functools import partial

import torch

from model.attention.heads import Attention, Parts
from model.bugs.bench_decoder import (
    CAPACITY,
    CONFIG,
    SEED,
    TOKENS,
    observed,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bug import Bug, Gauge, Observed
from model.config import DecoderConfig
from model.decoder import Decoder
from model.storage.base import KeyRows, NewKeys, NewValues, ValueRows
from model.storage.kivi import Groups, Kivi, decode_groups

LAWS = "tests/test_serving_laws.py::"
STEP = "sharing-keys-and-values#kivi"
N_BITS, GROUP = 4, 4
OFFSET = 50.0
TOLERANCE = 0.5
"""How far 4-bit rows may move a logit of this decoder when all is well."""


class KeysPerToken(Kivi):
    """Gives the keys of one token a range together, as is right for values."""

    def _encode_keys(self, k: NewKeys) -> Groups:
        coded = self._encode_values(k)  # [*batch kv_heads tokens n_groups]: tokens to the end
        return Groups(coded.codes.transpose(-3, -2), coded.scale.mT, coded.zero.mT)

    def read(self) -> tuple[KeyRows, ValueRows]:
        old_v = decode_groups(self.v_old, self.n_bits).flatten(-2).to(self.room.dtype)
        old = Groups(self.k_old.codes.transpose(-3, -2), self.k_old.scale.mT, self.k_old.zero.mT)
        k = decode_groups(old, self.n_bits).flatten(-2).to(self.room.dtype)
        return torch.cat([k, self.k_recent], dim=-2), torch.cat([old_v, self.v_recent], dim=-2)


class FlushesByCall(Kivi):
    """Compares the tokens of this call with the residual, not those that have been waiting."""

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        if k.shape[-2] >= self.residual:
            return super().append(k, v)
        self.length += k.shape[-2]
        self.k_recent = torch.cat([self.k_recent, k], dim=-2)
        self.v_recent = torch.cat([self.v_recent, v], dim=-2)
        return self.read()


class KeysWithAnOutlier(Attention):
    """One key channel far from zero, as a bias makes it in some models.

    Attention cannot tell: every score of a query moves by the same amount.
    """

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__(config, layer, parts, generator)
        outlier = torch.zeros(config.d_head, dtype=torch.float64)
        outlier[0] = OFFSET
        moved = replace(parts, rotate=lambda x, at, base: parts.rotate(x, at, base) + outlier)
        self.keys_values.parts = moved


def in_four_bits(store: type[Kivi]) -> Observed:
    """Bench: rows in 4 bits; the oracle keeps full precision, so even the right store is off."""
    decoder = Decoder(CONFIG, SEED, attention=KeysWithAnOutlier)
    make = partial(store, n_bits=N_BITS, group=GROUP, residual=GROUP)
    cache = decoder.new_cache(CAPACITY, store=make)
    expected, found = recompute(right_decoder(), TOKENS), read(decoder, cache, TOKENS)
    gauges = [
        Gauge("largest difference from full precision", float((found - expected).abs().max())),
        Gauge(f"bytes held after {len(TOKENS)} tokens", cache.nbytes_held),
    ]
    return observed(expected, found, gauges=gauges)


BUGS = {
    "key-axis": Bug(
        id="key-axis",
        title="Keys rounded along the wrong axis",
        story=(
            "Some channels of the keys lie far from zero, the same ones for every token. A range "
            "for each channel does not mind. A range for each token has to span from the outlier "
            "to the rest, and the rest is rounded to almost nothing. The values have no such "
            "channels, and there it is the other way round."
        ),
        source="ahb-sjsu/turboquant-pro#98",
        step=STEP,
        fix="Group keys along tokens, one range a channel, and values along channels.",
        right="model.storage.kivi:Kivi",
        twin="model.bugs.quantised:KeysPerToken",
        method="_encode_keys",
        seam="kivi",
        bench=in_four_bits,
        caught_by=f"{LAWS}test_an_outlier_channel_costs_the_keys_nothing",
        tolerance=TOLERANCE,
    ),
    "never-quantised": Bug(
        id="never-quantised",
        title="Four bits that are sixty-four",
        story=(
            "Recent rows wait in full precision until enough of them have come to be coded "
            "together. The store compares that number with the tokens of the present call, which "
            "in decoding is one, always. After the prompt nothing is ever coded. Every test of "
            "quality is passed with distinction; the memory grows as if there were no quantiser."
        ),
        source="rajveer43/VeloxQuant-MLX#86",
        step=STEP,
        fix="Count the rows that wait, not the rows that come; test the bytes after decoding.",
        right="model.storage.kivi:Kivi",
        twin="model.bugs.quantised:FlushesByCall",
        method="append",
        seam="kivi",
        bench=in_four_bits,
        caught_by=f"{LAWS}test_rows_that_have_waited_are_coded",
        tolerance=TOLERANCE,
    ),
}
