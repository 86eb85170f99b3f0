"""The stack, and its short way through a prompt: only the lower half has to see all of it."""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.attention.compressed.cache import CompressedCache
from model.attention.compressed.config import CompressedConfig
from model.attention.compressed.layer import Choice, CompressedAttention
from model.errors import BadInput
from model.layers import Ends, SwiGLU, rms_norm
from model.probe import Probe, ignore, within


class CompressedBlock(nn.Module):
    """Attention and a plain gated feed-forward network (the released one has experts)."""

    def __init__(
        self, config: CompressedConfig, layer: int, d_ff: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.attention = CompressedAttention(config, layer, generator)
        self.attention_norm = rms_norm(config.d_model)
        self.feed_forward = SwiGLU(config.d_model, d_ff, generator)
        self.feed_forward_norm = rms_norm(config.d_model)


class CompressedDecoder(nn.Module):
    """Token ids in, logits out, through Window, Full, Reindex and Reuse layers."""

    def __init__(
        self, config: CompressedConfig, seed: int, *, d_ff: int = 32, vocab_size: int = 29
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.ends = Ends(vocab_size, config.d_model, generator)
        layers = range(config.n_layers)
        self.blocks = nn.ModuleList(CompressedBlock(config, n, d_ff, generator) for n in layers)
        self.requires_grad_(requires_grad=False)

    def new_cache(self, capacity: int) -> CompressedCache:
        """Make an empty cache of exact rows for `capacity` tokens."""
        return CompressedCache(self.config, capacity)

    def forward(
        self,
        tokens: Int[Tensor, " new"],
        cache: CompressedCache | None = None,
        probe: Probe = ignore,
    ) -> Float[Tensor, "new vocab"]:
        """Logits after each new token. Without a cache, an empty one is used and dropped."""
        cache = self.new_cache(len(tokens)) if cache is None else cache
        x, choice = self.ends.rows(tokens), None
        for layer in range(self.config.n_layers):
            choice = self._write(layer, x, cache, choice)
            x, choice = self._read(layer, x, cache, choice, probe)
        return self.ends.logits(x)

    def replay(
        self, tokens: Int[Tensor, " new"], n_replay: int, cache: CompressedCache | None = None
    ) -> Float[Tensor, "n_replay vocab"]:
        """Logits after the last `n_replay` tokens of a prompt, run alone through the upper half.

        The entries the upper half reads all come from below it, so only its windows miss the
        rest. They reach window - 1 back in each upper layer: exact for the last token if
        n_replay is at least n_upper * (window - 1) + 1.
        """
        cache = self.new_cache(len(tokens)) if cache is None else cache
        if cache.length or not 1 <= n_replay <= len(tokens):
            message = (
                f"a replay of {n_replay} tokens needs an empty cache and a prompt of as many: "
                f"got {cache.length} cached and {len(tokens)} new"
            )
            raise BadInput(message)
        x, choice, first = self.ends.rows(tokens), None, self.config.n_encoder
        for layer in range(first):
            choice = self._write(layer, x, cache, choice)
            x, choice = self._read(layer, x, cache, choice, ignore)
        choice = self._write(first, x, cache, choice)
        x = x[-n_replay:]
        for layer in range(first, self.config.n_layers):
            cache.windows[layer].skip(len(tokens) - n_replay)
            x, choice = self._read(layer, x, cache, choice, ignore)
        return self.ends.logits(x)

    def block(self, layer: int) -> CompressedBlock:
        """Return one layer of the stack."""
        return cast("CompressedBlock", self.blocks[layer])

    def _write(
        self,
        layer: int,
        x: Float[Tensor, "new d_model"],
        cache: CompressedCache,
        choice: Choice | None,
    ) -> Choice | None:
        block = self.block(layer)
        if block.attention.kind != "full":
            return choice
        unfinished = cache.unfinished.get(layer)
        return block.attention.write(block.attention_norm(x), cache.entries[layer], unfinished)

    def _read(
        self,
        layer: int,
        x: Float[Tensor, "new d_model"],
        cache: CompressedCache,
        choice: Choice | None,
        probe: Probe,
    ) -> tuple[Float[Tensor, "new d_model"], Choice | None]:
        block = self.block(layer)
        mixed, choice = block.attention(
            block.attention_norm(x), cache.windows[layer], choice, within(f"layers.{layer}", probe)
        )
        x = x + mixed
        return x + block.feed_forward(block.feed_forward_norm(x)), choice
