"""CLA: neighbouring layers share one layer's keys and values.

The first of every `share` layers projects and keeps them; the others bring queries only.
Saves capacity, not reading: each layer still reads the store. Source: arXiv 2405.12981.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.attention.heads import Kept, KeyValueHeads, Parts, QueryHeads
from model.cache import KVCache
from model.config import DecoderConfig, check_positive
from model.layers import Ends, SwiGLU, rms_norm
from model.probe import Probe, ignore, within
from model.storage.base import MakeStorage, Room, Storage
from model.storage.contiguous import Contiguous


@dataclass(frozen=True, kw_only=True)
class SharedConfig(DecoderConfig):
    """A decoder in which groups of `share` layers own one store together."""

    share: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("share", self.share)

    @property
    def owners(self) -> tuple[int, ...]:
        """The first layer of each group; the last group may be short.

        >>> SharedConfig(n_layers=20, share=3).owners
        (0, 3, 6, 9, 12, 15, 18)
        """
        return tuple(range(0, self.n_layers, self.share))

    def owner_of(self, layer: int) -> int:
        """Return the layer whose keys and values this layer reads."""
        return layer - layer % self.share


class SharingBlock(nn.Module):
    """A decoder block that may or may not project keys and values itself."""

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.queries = QueryHeads(config, layer, parts, generator)
        self.attention_norm = rms_norm(config.d_model)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff, generator)
        self.feed_forward_norm = rms_norm(config.d_model)

    def forward(
        self, x: Float[Tensor, "new d_model"], kept: Kept, probe: Probe = ignore
    ) -> Float[Tensor, "new d_model"]:
        x = x + self.queries(self.attention_norm(x), kept, probe)
        return x + self.feed_forward(self.feed_forward_norm(x))


class OwningBlock(SharingBlock):
    """The first block of a group: the one with key and value projections."""

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        super().__init__(config, layer, parts, generator)
        self.keys_values = KeyValueHeads(config, parts, generator)

    def keep(self, x: Float[Tensor, "new d_model"], store: Storage | None) -> Kept:
        """Project this layer's input and keep it for the whole group."""
        return self.keys_values(self.attention_norm(x), store)


class SharedDecoder(nn.Module):
    """`Decoder` with one store for every `config.share` layers."""

    def __init__(self, config: SharedConfig, seed: int, *, parts: Parts | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        parts = parts or Parts()
        self.config = config
        self.ends = Ends(config.vocab_size, config.d_model, generator)
        self.blocks = nn.ModuleList()
        for layer in range(config.n_layers):
            kind = OwningBlock if config.owner_of(layer) == layer else SharingBlock
            self.blocks.append(kind(config, layer, parts, generator))
        self.requires_grad_(requires_grad=False)

    def forward(
        self, tokens: Int[Tensor, " new"], cache: KVCache | None = None, probe: Probe = ignore
    ) -> Float[Tensor, "new vocab"]:
        """Logits after each new token; an owner's rows are handed on to its group."""
        x = self.ends.rows(tokens)
        kept = None
        for layer, block in enumerate(self.blocks):
            if isinstance(block, OwningBlock):
                kept = block.keep(x, None if cache is None else cache[layer // self.config.share])
            x = block(x, kept, within(f"layers.{layer}", probe))
        return self.ends.logits(x)

    def new_cache(self, capacity: int, store: MakeStorage = Contiguous) -> KVCache:
        """Make an empty cache: one store per owner."""
        d_head, heads = self.config.d_head, self.config.n_kv_heads
        room = Room(kv_heads=heads, d_key=d_head, d_value=d_head, capacity=capacity)
        return KVCache(store(room) for _ in self.config.owners)
