"""Slabs whose slots are not what the reader of them thinks."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.bugs.bench_decoder import (
    CAPACITY,
    TOKENS,
    observed,
    random_tokens,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bench_toy import on_toy
from model.bugs.bug import Bug, Gauge, Observed
from model.storage.base import KeyRows, MakeStorage, NewKeys, NewValues, ValueRows
from model.storage.contiguous import Contiguous
from model.toy.cache import Cache
from model.toy.config import ToyConfig

Rows = Float[Tensor, "kv_heads slots d_head"]


class WholeSlab(Cache):
    """Hands out every slot it has, filled or not: an empty key of zeros scores 0, not minus inf."""

    def __init__(self, config: ToyConfig, capacity: int) -> None:
        super().__init__(config, capacity)
        self._k.zero_()
        self._v.zero_()

    @property
    def kept(self) -> tuple[Rows, Rows]:
        return self._k, self._v


class OneSlotFurther(Contiguous):
    """Counts the token that is about to come as if it were there: slot n is read, never written."""

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        rows = super().append(k, v)
        self.n_read = self.length
        if self.length == k.shape[-2]:  # the prompt
            self.length += 1
        return rows

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return torch.arange(self.n_read)


def largest_gap(store: MakeStorage, earlier: int) -> tuple[Tensor, Tensor]:
    """Run on a cache that served another text of `earlier` tokens before."""
    decoder = right_decoder()
    cache = decoder.new_cache(CAPACITY, store=store)
    for layer in cache.stores:
        for slab in vars(layer).values():
            if isinstance(slab, Tensor):
                slab.zero_()
    if earlier:
        decoder(random_tokens(earlier, seed=99), cache)
        cache.crop(0)
    return recompute(decoder, TOKENS), read(decoder, cache, TOKENS)


def recycled(store: MakeStorage) -> Observed:
    """Bench on slots that an earlier text has used; the gauge repeats it on cleared ones."""
    expected, found = largest_gap(store, earlier=20)
    clean_expected, clean = largest_gap(store, earlier=0)
    gap = float((clean - clean_expected).abs().max())
    return observed(expected, found, gauges=[Gauge("largest difference on cleared slots", gap)])


BUGS = {
    "empty-slots": Bug(
        id="empty-slots",
        title="Empty slots take part",
        story=(
            "A cache reserved in advance is full of zeros, and the whole of it is handed to "
            "attention. A key of zeros does not score minus infinity, it scores 0, so every empty "
            "slot takes its share of the weights, and a value of zeros pulls the result towards "
            "nothing. The more room is reserved, the worse it gets."
        ),
        source="meta-pytorch/gpt-fast#233",
        step="the-cache-step-by-step#append",
        fix="Hand out only the filled rows, or mask the others.",
        right="model.toy.cache:Cache",
        twin="model.bugs.slots:WholeSlab",
        method="kept",
        seam="keep",
        bench=on_toy("keep"),
        caught_by="tests/test_toy_laws.py::test_a_cached_run_writes_what_a_full_one_writes",
    ),
    "off-by-one-hole": Bug(
        id="off-by-one-hole",
        title="A slot that is read and never written",
        story=(
            "The writer, the reader and the allocator agree on a length, and all of them are one "
            "too far: the length counted the token that was about to come. Slot n then belongs "
            "to the text and nobody fills it. On fresh memory it holds zeros and does little; on "
            "memory that served another reader it holds that reader's key and value."
        ),
        source="microsoft/onnxruntime-genai#2354",
        step="the-cache-step-by-step#append",
        fix="Length is the number of rows written; test it on memory full of poison.",
        right="model.storage.contiguous:Contiguous",
        twin="model.bugs.slots:OneSlotFurther",
        method="append",
        seam="store",
        bench=recycled,
        caught_by="tests/test_cache_laws.py::test_a_used_cache_is_as_good_as_a_new_one",
    ),
}
