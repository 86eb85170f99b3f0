"""MLA: cache one small latent for all heads, and one rotary key, instead of keys and values.

Two ways to read the same cache: expand it to keys and values, or move the expansion to the
query (absorbed), after which decoding is MQA over the latents themselves.
Source: DeepSeek-V2, arXiv 2405.04434, equations 9 to 19; deepseek-ai/DeepSeek-V3 model.py.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model import masks
from model.attention.attend import attend
from model.attention.heads import AttentionLayer, Parts, join_heads, split_heads
from model.config import DecoderConfig, check_positive
from model.layers import linear, rms_norm
from model.probe import Probe, ignore
from model.storage.base import Room, Storage


@dataclass(frozen=True, kw_only=True)
class LatentConfig(DecoderConfig):
    """`d_head` is the part of a query and key without position; `d_rope` the part with.

    `d_query_latent` None means queries are projected in one step. Key/value heads are not
    cached, so `n_kv_heads` plays no part.
    """

    d_latent: int = 12
    d_rope: int = 4
    d_value: int = 6
    d_query_latent: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("d_latent", "d_rope", "d_value"):
            check_positive(name, getattr(self, name))

    @property
    def d_key(self) -> int:
        """Width of an expanded key: without position and with."""
        return self.d_head + self.d_rope

    @property
    def numbers_per_layer(self) -> int:
        """Latent and rotary key, however many heads there are.

        >>> LatentConfig(d_latent=512, d_rope=64, n_heads=128).numbers_per_layer
        576
        """
        return self.d_latent + self.d_rope

    @property
    def expanded_numbers_per_layer(self) -> int:
        """What caching the expanded keys and values would take.

        >>> LatentConfig(d_head=128, d_rope=64, d_value=128, n_heads=128).expanded_numbers_per_layer
        40960
        """
        return self.n_heads * (self.d_key + self.d_value)


class Latents(NamedTuple):
    """What a pass may read, and where."""

    latent: Float[Tensor, "1 seen d_latent"]
    rope_key: Float[Tensor, "1 seen d_rope"]
    key_positions: Int[Tensor, " seen"]
    query_positions: Int[Tensor, " new"]


class LatentAttention(AttentionLayer):
    """Writes latents and rotary keys; how they are read is up to the two classes below."""

    def __init__(
        self, config: LatentConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config, self.parts = config, parts
        self.may_read = parts.mask(config, layer)
        heads = config.n_heads
        self.down = linear(config.d_model, config.d_latent, generator)
        self.latent_norm = rms_norm(config.d_latent)
        self.rope_key = linear(config.d_model, config.d_rope, generator)
        self.up_key = linear(config.d_latent, heads * config.d_head, generator)
        self.up_value = linear(config.d_latent, heads * config.d_value, generator)
        self.query = query_projection(config, generator)
        self.o = linear(heads * config.d_value, config.d_model, generator)

    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage | None, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        kept = self.keep(x, store)
        q = split_heads(self.query(x), self.config.n_heads)
        q_plain, q_rope = q.split([self.config.d_head, self.config.d_rope], dim=-1)
        q_rope = self.parts.rotate(q_rope, kept.query_positions, self.config.rope_base)
        mixed, weights = self.read(q_plain, q_rope, kept)
        probe("latent", kept.latent)
        probe("weights", weights)
        return self.o(join_heads(mixed))

    def keep(self, x: Float[Tensor, "new d_model"], store: Storage | None) -> Latents:
        """Cache the latent after its norm and the one shared key after its rotation."""
        latent = self.latent_norm(self.down(x)).unsqueeze(0)
        positions = key_positions = self.parts.positions(store, x.shape[0])
        unturned = self.rope_key(x).unsqueeze(0)
        rope_key = self.parts.rotate(unturned, positions, self.config.rope_base)
        if store is not None:
            latent, rope_key = store.append(latent, rope_key)
            key_positions = store.positions
        return Latents(latent, rope_key, key_positions, positions)

    @abstractmethod
    def read(
        self,
        q_plain: Float[Tensor, "heads new d_head"],
        q_rope: Float[Tensor, "heads new d_rope"],
        kept: Latents,
    ) -> tuple[Float[Tensor, "heads new d_value"], Float[Tensor, "heads new seen"]]:
        """Ask the latents and mix values of every head."""

    def mask(self, kept: Latents) -> Tensor:
        return masks.mask(self.may_read, kept.query_positions, kept.key_positions)

    def up(self, projection: nn.Linear) -> Float[Tensor, "heads d d_latent"]:
        """See an up-projection as one matrix a head."""
        return projection.weight.unflatten(0, (self.config.n_heads, -1))

    def room(self, capacity: int) -> Room:
        config = self.config
        return Room(kv_heads=1, d_key=config.d_latent, d_value=config.d_rope, capacity=capacity)


class ExpandedLatentAttention(LatentAttention):
    """The naive way: make every head's keys and values from the latents, at every read."""

    def read(
        self,
        q_plain: Float[Tensor, "heads new d_head"],
        q_rope: Float[Tensor, "heads new d_rope"],
        kept: Latents,
    ) -> tuple[Float[Tensor, "heads new d_value"], Float[Tensor, "heads new seen"]]:
        k_plain = kept.latent @ self.up(self.up_key).mT
        k_rope = kept.rope_key.expand(self.config.n_heads, -1, -1)
        q, k = torch.cat([q_plain, q_rope], dim=-1), torch.cat([k_plain, k_rope], dim=-1)
        return attend(q, k, kept.latent @ self.up(self.up_value).mT, self.mask(kept))


class AbsorbedLatentAttention(LatentAttention):
    """The same sums in another order: q . (W c) = (W^T q) . c, and the mix of W c is W mix.

    The scale stays that of the expanded keys, 1 / sqrt(d_head + d_rope).
    """

    def read(
        self,
        q_plain: Float[Tensor, "heads new d_head"],
        q_rope: Float[Tensor, "heads new d_rope"],
        kept: Latents,
    ) -> tuple[Float[Tensor, "heads new d_value"], Float[Tensor, "heads new seen"]]:
        q = torch.cat([q_plain @ self.up(self.up_key), q_rope], dim=-1)
        k = torch.cat([kept.latent, kept.rope_key], dim=-1)
        scale = self.config.d_key**-0.5
        mixed, weights = attend(q, k, kept.latent, self.mask(kept), scale)
        return mixed @ self.up(self.up_value).mT, weights


def query_projection(config: LatentConfig, generator: torch.Generator) -> nn.Module:
    """Make the query projection: in one step, or down to a latent, normed, and up."""
    width = config.n_heads * config.d_key
    if config.d_query_latent is None:
        return linear(config.d_model, width, generator)
    return nn.Sequential(
        linear(config.d_model, config.d_query_latent, generator),
        rms_norm(config.d_query_latent),
        linear(config.d_query_latent, width, generator),
    )
