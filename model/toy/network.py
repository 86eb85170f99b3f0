"""The network, once: trained in batches, run over whole prefixes, or fed one word at a time.

Post-norm layers as in Vaswani et al. 2017, figure 1. Nothing here knows whether there is a
cache: the stores it is handed decide that, and the arithmetic it is handed decides how sums are
added up. Every function returns all it computed, so that a run can be shown.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from model.toy.arithmetic import Arithmetic
from model.toy.cache import Cache
from model.toy.config import ToyConfig
from model.toy.masks import Mask, causal
from model.toy.parameters import EncoderLayer, Parameters


@runtime_checkable
class Keeper(Protocol):
    """Whatever keeps a layer's keys and values between decode steps."""

    @property
    def nbytes(self) -> int: ...

    def append(
        self,
        k: Float[Tensor, "*batch kv_heads new d_key"],
        v: Float[Tensor, "*batch kv_heads new d_value"],
    ) -> tuple[Tensor, Tensor]: ...


class KeysValues(NamedTuple):
    k: Float[Tensor, "*batch kv_heads seen d_head"]
    v: Float[Tensor, "*batch kv_heads seen d_head"]


class Attended(NamedTuple):
    """All that one attention computed."""

    q: Tensor  # heads new d_head
    k: Tensor  # kv_heads seen d_head
    v: Tensor
    scores: Tensor  # heads new seen
    weights: Tensor
    heads: Tensor  # heads new d_head
    out: Tensor  # new d_model


class EncoderPass(NamedTuple):
    attention: Attended
    norm1: Tensor
    hidden: Tensor  # new d_ff
    feed_forward: Tensor
    norm2: Tensor


class DecoderPass(NamedTuple):
    attention: Attended
    norm1: Tensor
    cross: Attended
    norm2: Tensor
    hidden: Tensor
    feed_forward: Tensor
    norm3: Tensor


class Embedded(NamedTuple):
    embedding: Tensor  # new d_model, already times sqrt(d_model)
    position: Tensor
    x: Tensor


class Encoded(NamedTuple):
    embedded: Embedded
    layers: tuple[EncoderPass, ...]
    memory: Tensor


class Decoded(NamedTuple):
    fed: Tensor
    embedded: Embedded
    layers: tuple[DecoderPass, ...]
    y: Tensor


class Around(NamedTuple):
    """What the new rows of one decoder layer meet there."""

    places: slice | Tensor  # where they stand
    keeper: Keeper
    mask: Tensor | None
    below: Sequence[DecoderPass]  # what the lower layers have just computed


def sinusoids(config: ToyConfig, n_positions: int) -> Float[Tensor, "positions d_model"]:
    """Position codes (Vaswani et al. 2017, section 3.5): sine and cosine by turns."""
    places = torch.arange(n_positions, dtype=torch.float64)[:, None]
    pairs = torch.arange(0, config.d_model, 2, dtype=torch.float64)
    angles = places / config.position_base ** (pairs / config.d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class Network:
    """Parameters and an arithmetic; cheap to make, so that every run has its own counts.

    A variant overrides how attention makes and reads its rows, what keeps them, or the mask.
    """

    mask: Mask = staticmethod(causal)

    def __init__(self, config: ToyConfig, parameters: Parameters, arithmetic: Arithmetic) -> None:
        self.config = config
        self.parameters = parameters
        self.arithmetic = arithmetic

    def caches(self, capacity: int) -> Sequence[Keeper]:
        """Make what the layers keep their rows in, for at most `capacity` words."""
        return [Cache(self.config, capacity) for _ in range(self.config.n_layers)]

    def encode(self, ids: Int[Tensor, "*batch source"]) -> Encoded:
        """Read the source, every word seeing every other."""
        embedded = self._embed(self.parameters.english, ids, slice(0, ids.shape[-1]))
        x, layers = embedded.x, []
        for layer in self.parameters.encoder:
            layers.append(self._encoder_layer(layer, x))
            x = layers[-1].norm2
        return Encoded(embedded, tuple(layers), x)

    def project_memory(
        self, memory: Float[Tensor, "*batch source d_model"]
    ) -> tuple[KeysValues, ...]:
        """Keys and values of the source for each decoder layer: they depend on nothing written."""
        self.arithmetic.work.memory_rows += memory.shape[-2] * self.config.n_layers
        return tuple(
            KeysValues(*self._split(self.arithmetic.linear(memory, layer.cross_kv)).chunk(2, -3))
            for layer in self.parameters.decoder
        )

    def decode(
        self,
        ids: Int[Tensor, "*batch new"],
        places: slice | Int[Tensor, " new"],
        keepers: Sequence[Keeper],
        source: Sequence[KeysValues],
        mask: Bool[Tensor, "new seen"] | None = None,
    ) -> Decoded:
        """Feed the words `ids`, standing at `places`, after whatever the keepers hold.

        `mask` says which keys a query may read; None lets it read all.
        """
        self.arithmetic.work.positions += ids.shape[-1]
        embedded = self._embed(self.parameters.french, ids, places)
        y, layers = embedded.x, []
        for layer, keeper, keys_values in zip(
            self.parameters.decoder, keepers, source, strict=True
        ):
            around = Around(places, keeper, mask, layers)
            layers.append(self._decoder_layer(layer, y, around, keys_values))
            y = layers[-1].norm3
        return Decoded(ids, embedded, tuple(layers), y)

    def logits(self, y: Float[Tensor, "*batch new d_model"]) -> Float[Tensor, "*batch new vocab"]:
        return self.arithmetic.linear(y, self.parameters.unembed) + self.parameters.unembed_bias

    def _embed(self, table: Tensor, ids: Tensor, places: slice | Tensor) -> Embedded:
        embedding = self.arithmetic.rows(table, ids) * math.sqrt(self.config.d_model)
        position = self.parameters.positions[places]
        return Embedded(embedding, position, embedding + position)

    def _encoder_layer(self, w: EncoderLayer, x: Tensor) -> EncoderPass:
        q, k, v = self._split(self.arithmetic.linear(x, w.qkv)).chunk(3, -3)
        attention = self._attend(q, k, v, w.out)
        norm1 = self._norm(x + attention.out, w.gain1, w.shift1)
        hidden, feed_forward = self._feed_forward(w, norm1)
        norm2 = self._norm(norm1 + feed_forward, w.gain2, w.shift2)
        return EncoderPass(attention, norm1, hidden, feed_forward, norm2)

    def _decoder_layer(self, w: Any, y: Tensor, around: Around, source: KeysValues) -> DecoderPass:
        attention = self._self_attention(w, y, around)
        self.arithmetic.work.projected_rows += y.shape[-2]
        self.arithmetic.work.self_scores += attention.scores.numel()
        norm1 = self._norm(y + attention.out, w.gain1, w.shift1)

        q = self._split(self.arithmetic.linear(norm1, w.cross_q))
        cross = self._attend(q, source.k, source.v, w.cross_out)
        self.arithmetic.work.cross_scores += cross.scores.numel()
        norm2 = self._norm(norm1 + cross.out, w.gain2, w.shift2)

        hidden, feed_forward = self._feed_forward(w, norm2)
        norm3 = self._norm(norm2 + feed_forward, w.gain3, w.shift3)
        return DecoderPass(attention, norm1, cross, norm2, hidden, feed_forward, norm3)

    def _self_attention(self, w: Any, y: Tensor, around: Around) -> Attended:
        n_heads, n_kv_heads = self.config.n_heads, self.config.n_kv_heads
        qkv = self._split(self.arithmetic.linear(y, w.qkv))
        q, k, v = qkv.split([n_heads, n_kv_heads, n_kv_heads], dim=-3)
        k, v = around.keeper.append(k, v)  # the only line a KV cache adds to attention
        return self._attend(q, k, v, w.out, around.mask)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, out: Tensor, mask: Tensor | None = None
    ) -> Attended:
        """softmax(q k^T / sqrt(d_head)) v, each group of query heads on its own key/value head."""
        group = q.shape[-3] // k.shape[-3]
        keys, values = (k, v) if group == 1 else (t.repeat_interleave(group, -3) for t in (k, v))
        scores = self.arithmetic.scores(q, keys)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = self.arithmetic.softmax(scores)
        heads = self.arithmetic.mix(weights, values)
        merged = heads.transpose(-2, -3).flatten(-2)
        return Attended(q, k, v, scores, weights, heads, self.arithmetic.linear(merged, out))

    def _feed_forward(self, w: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = (self.arithmetic.linear(x, w.widen) + w.widen_bias).relu()
        return hidden, self.arithmetic.linear(hidden, w.narrow) + w.narrow_bias

    def _norm(self, x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        return self.arithmetic.standardise(x) * gain + shift

    def _split(
        self, x: Float[Tensor, "*batch new features"]
    ) -> Float[Tensor, "*batch some_heads new d_head"]:
        return x.unflatten(-1, (-1, self.config.d_head)).transpose(-2, -3)
