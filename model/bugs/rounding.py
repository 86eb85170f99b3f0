"""Rounding or bug? A gap that a wider type closes is rounding; one that stays is a bug."""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
from model.probe import Probe, ignore
from model.storage.base import KeyRows, MakeStorage, NewKeys, NewValues, Storage, ValueRows
from model.storage.contiguous import Contiguous

DTYPES = (torch.bfloat16, torch.float32, torch.float64)


class PromptKeptTwice(Contiguous):
    """Keeps the prompt, and all of it but its last token once more, at the same positions."""

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        if self.length == 0:
            self.again = k[..., :-1, :].clone(), v[..., :-1, :].clone()
            return super().append(k, v)
        super().append(k, v)
        return self.read()

    def read(self) -> tuple[KeyRows, ValueRows]:
        k, v = super().read()
        if self.length == self.n_again + 1:
            return k, v
        again_k, again_v = self.again
        return torch.cat([again_k, k], dim=-2), torch.cat([again_v, v], dim=-2)

    @property
    def n_again(self) -> int:
        return self.again[0].shape[-2]

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        once = super().positions
        if self.length == self.n_again + 1:
            return once
        return torch.cat([once[: self.n_again], once])


class RowsIn(Attention):
    """Reads its keys and values as if they had been kept in another type."""

    def __init__(
        self,
        dtype: torch.dtype,
        config: DecoderConfig,
        layer: int,
        parts: Parts,
        generator: torch.Generator,
    ) -> None:
        super().__init__(config, layer, parts, generator)
        self.dtype = dtype

    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage | None, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        kept = self.keys_values(x, store)
        k, v = (rows.to(self.dtype).to(x.dtype) for rows in (kept.k, kept.v))
        return self.queries(x, kept._replace(k=k, v=v), probe)


def in_every_type(store: MakeStorage) -> Observed:
    """Bench: rows kept in 16, 32 and 64 bits, against a full pass in 64; the steps show 64."""
    expected = found = recompute(right_decoder(), TOKENS)
    gauges, rows = [], 0
    for dtype in DTYPES:
        decoder = Decoder(CONFIG, SEED, attention=partial(RowsIn, dtype))
        cache = decoder.new_cache(CAPACITY, store=store)
        found = read(decoder, cache, TOKENS)
        gap, rows = float((found - expected).abs().max()), cache[0].read()[0].shape[-2]
        name = str(dtype).removeprefix("torch.")
        gauges.append(Gauge(f"largest difference, rows in {name}", gap))
    return observed(expected, found, gauges=[*gauges, Gauge("rows kept", rows)])


BUGS = {
    "rounding-or-bug": Bug(
        id="rounding-or-bug",
        title="Rounding, or a bug?",
        story=(
            "Cached and uncached logits differ a little, and somebody says it must be rounding. "
            "One such report turned out to be a prompt that had been submitted twice. Doubling "
            "every row would change nothing at all, since a softmax divides by its sum; doubling "
            "all but one moves the logits just enough to look like low precision."
        ),
        source="ggml-org/llama.cpp#7859",
        step="the-cache-step-by-step#not-an-approximation",
        fix="Repeat it in a wider type: rounding shrinks, a bug stays. And count the rows.",
        right="model.storage.contiguous:Contiguous",
        twin="model.bugs.rounding:PromptKeptTwice",
        method="read",
        seam="store",
        bench=in_every_type,
        caught_by="tests/test_cache_laws.py::test_a_gap_closes_in_a_wider_type",
    ),
}
