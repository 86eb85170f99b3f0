"""Multi-head attention with shared key/value heads: MHA, GQA and MQA are one number apart.

Writing (`KeyValueHeads`) and reading (`QueryHeads`) are apart, so that other variants can let
several layers read what one of them wrote.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model import masks
from model.attention.attend import Share, attend, share_heads
from model.config import DecoderConfig
from model.layers import linear
from model.probe import Probe, ignore
from model.rope import rotate
from model.storage.base import Room, Storage

Rotate = Callable[[Float[Tensor, "h n d"], Int[Tensor, " n"], float], Float[Tensor, "h n d"]]


class Kept(NamedTuple):
    """What a pass may read: every kept row, where it stands, and where the queries stand."""

    k: Float[Tensor, "kv_heads seen d_head"]
    v: Float[Tensor, "kv_heads seen d_head"]
    key_positions: Int[Tensor, " seen"]
    query_positions: Int[Tensor, " new"]


def next_positions(store: Storage | None, new: int) -> Int[Tensor, " new"]:
    """Place new tokens after those the store has seen; without a store start at 0."""
    start = 0 if store is None else store.length
    return torch.arange(start, start + new)


def mask_of_layer(config: DecoderConfig, layer: int) -> masks.Predicate:
    """Pick the pattern the config asks of this layer: causal, window, or window and sinks."""
    width = config.window_of(layer)
    if width is None:
        return masks.causal
    return masks.window_with_sinks(width, config.sinks)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a layer is built from. Each can be replaced by a variant, or by a wrong twin."""

    rotate: Rotate = rotate
    positions: Callable[[Storage | None, int], Int[Tensor, " new"]] = next_positions
    mask: Callable[[DecoderConfig, int], masks.Predicate] = mask_of_layer
    share: Share = share_heads


def split_heads(x: Float[Tensor, "new width"], n_heads: int) -> Float[Tensor, "heads new d_head"]:
    """Cut every row into heads of equal width, heads first."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def join_heads(x: Float[Tensor, "heads new d_head"]) -> Float[Tensor, "new width"]:
    """Undo `split_heads`."""
    return x.transpose(-3, -2).flatten(-2)


class KeyValueHeads(nn.Module):
    """Projects the new tokens to keys and values and lets the store keep them."""

    def __init__(self, config: DecoderConfig, parts: Parts, generator: torch.Generator) -> None:
        super().__init__()
        self.config, self.parts = config, parts
        width = config.n_kv_heads * config.d_head
        self.k = linear(config.d_model, width, generator)
        self.v = linear(config.d_model, width, generator)

    def forward(self, x: Float[Tensor, "new d_model"], store: Storage | None) -> Kept:
        k = split_heads(self.k(x), self.config.n_kv_heads)
        v = split_heads(self.v(x), self.config.n_kv_heads)
        positions = key_positions = self.parts.positions(store, x.shape[0])
        k = self.parts.rotate(k, positions, self.config.rope_base)
        if store is not None:  # the only lines a KV cache adds to attention
            k, v = store.append(k, v)
            key_positions = store.positions
        return Kept(k, v, key_positions, positions)


class KeyValueHeadsRotatedOnRead(KeyValueHeads):
    """Keeps keys as projected and turns all of them at every read, by their place in the store.

    For stores that move rows to new places (sinks with positions inside the cache).
    """

    def forward(self, x: Float[Tensor, "new d_model"], store: Storage | None) -> Kept:
        k = split_heads(self.k(x), self.config.n_kv_heads)
        v = split_heads(self.v(x), self.config.n_kv_heads)
        key_positions = self.parts.positions(store, x.shape[0])
        if store is not None:
            k, v = store.append(k, v)
            key_positions = store.positions
        k = self.parts.rotate(k, key_positions, self.config.rope_base)
        query_positions = key_positions.sort().values[-x.shape[0] :]  # the newest places
        return Kept(k, v, key_positions, query_positions)


class QueryHeads(nn.Module):
    """Asks the kept rows and mixes the answers back into the width of the model."""

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.parts = config, parts
        self.may_read = parts.mask(config, layer)
        width = config.n_heads * config.d_head
        self.q = linear(config.d_model, width, generator)
        self.o = linear(width, config.d_model, generator)

    def forward(
        self, x: Float[Tensor, "new d_model"], kept: Kept, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        q = split_heads(self.q(x), self.config.n_heads)
        q = self.parts.rotate(q, kept.query_positions, self.config.rope_base)
        allowed = masks.mask(self.may_read, kept.query_positions, kept.key_positions)
        mixed, weights = attend(q, kept.k, kept.v, allowed, share=self.parts.share)
        for name, value in (("q", q), ("k", kept.k), ("v", kept.v), ("weights", weights)):
            probe(name, value)
        return self.o(join_heads(mixed))


class AttentionLayer(nn.Module, ABC):
    """What a decoder block asks of its attention, whatever that caches."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage | None, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        """Mix the new rows with what the store remembers; remember them in it."""

    @abstractmethod
    def room(self, capacity: int) -> Room:
        """State what this layer asks of a store, for `capacity` tokens."""


class Attention(AttentionLayer):
    """One layer that reads what it wrote itself."""

    write: type[KeyValueHeads] = KeyValueHeads

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config = config
        self.keys_values = self.write(config, parts, generator)
        self.queries = QueryHeads(config, layer, parts, generator)

    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage | None, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        return self.queries(x, self.keys_values(x, store), probe)

    def room(self, capacity: int) -> Room:
        d_head, heads = self.config.d_head, self.config.n_kv_heads
        return Room(kv_heads=heads, d_key=d_head, d_value=d_head, capacity=capacity)


class AttentionRotatedOnRead(Attention):
    """`Attention` for stores in which rows change places."""

    write = KeyValueHeadsRotatedOnRead
