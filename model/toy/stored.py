"""The toy's keys and values written in fewer bits, and what that does to its logits.

The stores are the ones of `model.storage`. A head of the toy has 4 numbers, so a block is 4
numbers and a KIVI group 4 words: the scales weigh more here than in a head of 128.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.storage.base import MakeStorage, Room, Storage
from model.storage.codecs import CODECS, Fp4
from model.storage.codecs.base import Codec
from model.storage.kivi import Kivi
from model.storage.quantised import Quantised
from model.toy.arithmetic import FixedOrder
from model.toy.codes import Codes, codes_of
from model.toy.decode import Step, decode_cached, forced
from model.toy.network import Keeper, Network
from model.toy.record import shipped, source_of, understand
from model.toy.trace import Trace
from model.toy.vocabulary import vocabularies

BLOCK = 4  # numbers that share a scale: one word's row of one head
WIDE = 128  # a head of the models people serve


def coded(codec: Codec) -> MakeStorage:
    return partial(Quantised, key=codec, value=codec)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A way to write rows, at the toy's width, and what it costs there and in a wide head."""

    label: str
    make: MakeStorage
    bits_here: float
    bits_wide: float
    arithmetic: str  # of the bits in a wide head


def row_format(label: str, narrow: Codec, wide: Codec, arithmetic: str) -> Format:
    return Format(
        label=label,
        make=coded(narrow),
        bits_here=narrow.bits_per_value(BLOCK),
        bits_wide=wide.bits_per_value(WIDE),
        arithmetic=arithmetic,
    )


def kivi_format(n_bits: int) -> Format:
    group = 32
    return Format(
        label=f"KIVI, {n_bits} bits",
        make=partial(Kivi, n_bits=n_bits, group=BLOCK, residual=BLOCK),
        bits_here=n_bits + 32 / BLOCK,
        bits_wide=n_bits + 32 / group,
        arithmetic=f"{n_bits} + (16 + 16) / {group}, scale and zero",
    )


FORMATS: dict[str, Format] = {
    "int8": row_format("int8, a scale a row", CODECS["int8"], CODECS["int8"], f"8 + 32 / {WIDE}"),
    "fp8-e4m3": row_format("FP8 E4M3, no scale", CODECS["fp8-e4m3"], CODECS["fp8-e4m3"], "8"),
    "fp4": row_format("FP4, E4M3 scale", Fp4(BLOCK), CODECS["fp4"], "4 + 8 / 16"),
    "kivi-4": kivi_format(4),
    "kivi-2": kivi_format(2),
}


class StoredNetwork(Network):
    """The plain toy with its rows in any store."""

    make: MakeStorage

    def caches(self, capacity: int) -> Sequence[Keeper]:
        config = self.config
        heads, width = config.n_kv_heads, config.d_head
        room = Room(kv_heads=heads, d_key=width, d_value=width, capacity=capacity)
        return [self.make(room) for _ in range(config.n_layers)]


class CodeArrays(NamedTuple):
    """`Codes` of all layers."""

    units: Float[np.ndarray, "layers kv_heads seen d_head"]
    scale: Float[np.ndarray, "layers kv_heads seen d_head"]
    zero: Float[np.ndarray, "layers kv_heads seen d_head"]


@dataclass(frozen=True)
class Stored:
    """One run's rows as a store gives them back, and the same words written from that store.

    `codes` come first for keys, then for values: value = zero + units * scale, in every bit.
    """

    k: Float[np.ndarray, "layers kv_heads seen d_head"]
    v: Float[np.ndarray, "layers kv_heads seen d_head"]
    codes: tuple[CodeArrays, CodeArrays]
    logits_moved: Float[np.ndarray, " steps"]
    likeliest: tuple[str, ...]  # what it would have written at each step
    cache_bytes: int  # held, scales included


def stored(trace: Trace, form: Format) -> Stored:
    """Read a run's rows back from a store, and run it again on that store."""
    last = [layer.attention for layer in trace.cached.steps[-1].layers]
    stores = [filled(form.make, torch.tensor(a.k), torch.tensor(a.v)) for a in last]
    steps = rerun(trace, form.make)
    moved = [
        float(np.abs(step.logits.numpy() - exact.logits).max())
        for step, exact in zip(steps, trace.cached.steps, strict=True)
    ]
    k, v = zip(*(store.read() for store in stores), strict=True)
    coded_k, coded_v = zip(*(codes_of(store) for store in stores), strict=True)
    return Stored(
        k=stacked(k),
        v=stacked(v),
        codes=(joined(coded_k), joined(coded_v)),
        logits_moved=np.array(moved),
        likeliest=tuple(trace.vocabulary[int(step.probabilities.argmax())] for step in steps),
        cache_bytes=sum(store.nbytes_held for store in stores),
    )


def stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.stack([tensor.numpy() for tensor in tensors])


def joined(layers: Sequence[Codes]) -> CodeArrays:
    """Stack the layers' codes."""
    return CodeArrays(*(stacked(parts) for parts in zip(*layers, strict=True)))


def filled(make: MakeStorage, k: Tensor, v: Tensor) -> Storage:
    """Append rows one word at a time, as decoding does."""
    kv_heads, n_words, width = k.shape
    store = make(Room(kv_heads=kv_heads, d_key=width, d_value=width, capacity=n_words))
    for word in range(n_words):
        store.append(k[:, word : word + 1], v[:, word : word + 1])
    return store


def rerun(trace: Trace, make: MakeStorage) -> list[Step]:
    """Write the trace's words again with the rows in another store."""
    config, parameters = shipped()
    network = StoredNetwork(config, parameters, FixedOrder())
    network.make = make
    ids = vocabularies(config).french.ids
    with torch.inference_mode():
        _, source = source_of(network, understand(trace.reading.text, config))
        return list(decode_cached(network, source, forced([ids[word] for word in trace.words])))
