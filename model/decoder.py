"""A small pre-norm decoder (RMSNorm, RoPE, GQA, SwiGLU) with seeded weights, in float64.

No batch axis: one sequence at a time. What a bug could get wrong is passed in (`Parts`, the
attention class, the stores), so that a wrong twin runs through the same seams.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.attention.heads import Attention, AttentionLayer, Parts
from model.cache import KVCache
from model.config import DecoderConfig
from model.layers import SwiGLU, embedding, linear, rms_norm
from model.probe import Probe, ignore, within
from model.storage.base import MakeStorage, Room, Storage
from model.storage.contiguous import Contiguous

MakeAttention = Callable[[Any, int, Parts, torch.Generator], AttentionLayer]


class Block(nn.Module):
    """Attention, then the feed-forward network, each added to what came in."""

    def __init__(
        self, attention: AttentionLayer, config: DecoderConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_norm = rms_norm(config.d_model)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff, generator)
        self.feed_forward_norm = rms_norm(config.d_model)

    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage | None, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        x = x + self.attention(self.attention_norm(x), store, probe)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """Token ids in, the logits of each of them out; a cache remembers between calls.

    `parts` and `attention` decide how a layer works, `new_cache(store=...)` how it remembers.
    """

    def __init__(
        self,
        config: DecoderConfig,
        seed: int,
        *,
        parts: Parts | None = None,
        attention: MakeAttention = Attention,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        parts = parts or Parts()
        self.config = config
        self.embedding = embedding(config.vocab_size, config.d_model, generator)
        layers = (attention(config, layer, parts, generator) for layer in range(config.n_layers))
        self.blocks = nn.ModuleList(Block(layer, config, generator) for layer in layers)
        self.norm = rms_norm(config.d_model)
        self.head = linear(config.d_model, config.vocab_size, generator)
        self.requires_grad_(requires_grad=False)

    def forward(
        self, tokens: Int[Tensor, " new"], cache: KVCache | None = None, probe: Probe = ignore
    ) -> Float[Tensor, "new vocab"]:
        """Logits after each new token. With a cache, `tokens` are only those it has not seen."""
        x = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            store = None if cache is None else cache[layer]
            x = block(x, store, within(f"layers.{layer}", probe))
        return self.head(self.norm(x))

    def rooms(self, capacity: int) -> list[Room]:
        """State what each layer asks of its store, for `capacity` tokens."""
        layers = (block.get_submodule("attention") for block in self.blocks)
        return [cast("AttentionLayer", layer).room(capacity) for layer in layers]

    def new_cache(self, capacity: int, store: MakeStorage = Contiguous) -> KVCache:
        """Make an empty cache in which every layer keeps its rows in the same kind of store."""
        return KVCache(store(room) for room in self.rooms(capacity))
