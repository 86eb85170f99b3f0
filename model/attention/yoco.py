"""YOCO: a windowed lower half writes one global cache that every upper layer reads.

An upper layer never reads another position's upper state. So a prompt only has to climb the
lower half; its last token alone goes on to the top. Source: arXiv 2405.05254;
microsoft/unilm YOCO/yoco/models/decoder/yoco.py (`skip_cross_decoder`).
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.attention.heads import Attention, Kept, KeyValueHeads, Parts
from model.attention.shared import SharingBlock
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Block
from model.errors import BadInput
from model.layers import Ends, rms_norm
from model.probe import Probe, ignore, within
from model.storage.base import MakeStorage, Room
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring


@dataclass(frozen=True, kw_only=True)
class YocoConfig(DecoderConfig):
    """The lower half of the layers is windowed, the upper half global."""

    n_layers: int = 4
    window: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_layers % 2 or self.sinks or self.global_layers:
            message = (
                f"YOCO has two equal halves and chooses its own global layers: {self.n_layers} "
                f"layers with {self.sinks} sinks will not do, use an even number and 0"
            )
            raise BadInput(message)

    @property
    def n_lower(self) -> int:
        """Layers that own a window each."""
        return self.n_layers // 2

    @property
    def owners(self) -> tuple[int, ...]:
        """The lower layers, and one store for all the upper ones."""
        return tuple(range(self.n_lower + 1))

    def window_of(self, layer: int) -> int | None:
        """Return the window of a lower layer, None for an upper one."""
        return self.window if layer < self.n_lower else None


class Yoco(nn.Module):
    """Token ids in, logits out; `last_logits` takes the short way for a prompt."""

    def __init__(self, config: YocoConfig, seed: int, *, parts: Parts | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        parts = parts or Parts()
        self.config = config
        self.ends = Ends(config.vocab_size, config.d_model, generator)
        lower = range(config.n_lower)
        self.lower = nn.ModuleList(
            Block(Attention(config, layer, parts, generator), config, generator) for layer in lower
        )
        self.global_norm = rms_norm(config.d_model)
        self.global_keys_values = KeyValueHeads(config, parts, generator)
        upper = range(config.n_lower, config.n_layers)
        self.upper = nn.ModuleList(SharingBlock(config, n, parts, generator) for n in upper)
        self.requires_grad_(requires_grad=False)

    def forward(
        self, tokens: Int[Tensor, " new"], cache: KVCache | None = None, probe: Probe = ignore
    ) -> Float[Tensor, "new vocab"]:
        """Logits after each new token: every layer sees every token."""
        x, kept = self._climb(tokens, cache, probe)
        return self._finish(x, kept, probe)

    def last_logits(
        self, tokens: Int[Tensor, " new"], cache: KVCache | None = None, probe: Probe = ignore
    ) -> Float[Tensor, "1 vocab"]:
        """Logits after the last token, the upper half having seen that token alone."""
        x, kept = self._climb(tokens, cache, probe)
        return self._finish(x[-1:], kept._replace(query_positions=kept.query_positions[-1:]), probe)

    def _climb(
        self, tokens: Int[Tensor, " new"], cache: KVCache | None, probe: Probe
    ) -> tuple[Float[Tensor, "new d_model"], Kept]:
        x = self.ends.rows(tokens)
        for layer, block in enumerate(self.lower):
            store = None if cache is None else cache[layer]
            x = block(x, store, within(f"layers.{layer}", probe))
        store = None if cache is None else cache[self.config.n_lower]
        return x, self.global_keys_values(self.global_norm(x), store)

    def _finish(
        self, x: Float[Tensor, "new d_model"], kept: Kept, probe: Probe
    ) -> Float[Tensor, "new vocab"]:
        for layer, block in enumerate(self.upper, start=self.config.n_lower):
            x = block(x, kept, within(f"layers.{layer}", probe))
        return self.ends.logits(x)

    def new_cache(self, capacity: int, store: MakeStorage = Contiguous) -> KVCache:
        """Make an empty cache: a ring for each lower layer, and one `store` for the upper half."""
        d_head, heads = self.config.d_head, self.config.n_kv_heads
        room = Room(kv_heads=heads, d_key=d_head, d_value=d_head, capacity=capacity)
        ring = partial(Ring, window=self.config.window)
        return KVCache([ring(room) for _ in self.lower] + [store(room)])
