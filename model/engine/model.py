"""A Llama-family model: norm, attention, norm, SwiGLU, and a cache it asks for keys and values.

The attention is the one of the first lesson, for many rows at once and with PyTorch's kernel.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding, rms_norm, silu

from model.engine.config import EngineConfig
from model.engine.layer import Layer
from model.engine.layers import Linear, Streamed, cores_to_blas, in_numpy
from model.engine.one_row import OneRow
from model.engine.reading import Reading
from model.engine.rotary import RotaryTable
from model.storage.base import Storage

Hidden = Float[Tensor, "batch new d_model"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageModel:
    """Weights in place, ready to run. It holds no state: whoever calls brings the stores."""

    config: EngineConfig
    embedding: Float[Tensor, "vocab d_model"]
    layers: tuple[Layer, ...]
    norm: Float[Tensor, " d_model"]
    head: Linear
    rotary: RotaryTable
    one_row: OneRow | None = field(init=False)
    """The same layers for a single token, where NumPy can run them."""

    def __post_init__(self) -> None:
        one_row = OneRow(self.config, self.layers) if in_numpy(self.dtype, self.device) else None
        object.__setattr__(self, "one_row", one_row)

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.dtype

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    def hidden(
        self, tokens: Int[Tensor, "batch new"], stores: Sequence[Storage | None], reading: Reading
    ) -> Hidden:
        """Run the new tokens through every layer; each store keeps its layer's keys and values."""
        x = embedding(tokens, self.embedding)
        if self.one_row is not None and tokens.numel() == 1:
            with self.cores(tokens.numel()):
                return self.one_row.hidden(x.flatten(), stores, reading).view(x.shape)
        for layer, store in zip(self.layers, stores, strict=True):
            x = x + self.attention(layer, self.normed(x, layer.attention_norm), store, reading)
            x = x + self.feed_forward(layer, self.normed(x, layer.feed_forward_norm))
        return x

    def attention(self, layer: Layer, x: Hidden, store: Storage | None, reading: Reading) -> Hidden:
        """Ask every row that may be read one question per head, and mix the answers."""
        heads = layer.qkv(x).unflatten(-1, (-1, self.config.d_head)).transpose(1, 2)
        qk, v = heads.tensor_split([-self.config.n_kv_heads], dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            qk = self.normed_heads(qk, layer.q_norm, layer.k_norm)
        mixed = reading.attend(qk, v, store)
        return layer.out(mixed.transpose(1, 2).flatten(2))

    def normed_heads(
        self, qk: Float[Tensor, "batch heads new d_head"], q_norm: Tensor, k_norm: Tensor
    ) -> Float[Tensor, "batch heads new d_head"]:
        """Norm queries and keys head by head, before their positions (Qwen3)."""
        q, k = qk.tensor_split([self.config.n_heads], dim=1)
        return torch.cat([self.normed(q, q_norm), self.normed(k, k_norm)], dim=1)

    def feed_forward(self, layer: Layer, x: Hidden) -> Hidden:
        """Gate, multiply, project back."""
        gate, up = layer.gate_up(x).chunk(2, dim=-1)
        return layer.down(silu(gate) * up)

    def normed(self, x: Float[Tensor, "*rows width"], weight: Tensor) -> Tensor:
        """Divide each row by its root mean square, then scale the channels."""
        return rms_norm(x, weight.shape, weight, self.config.norm_eps)

    def logits(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows vocab"]:
        """Score every word of the vocabulary as the next one."""
        with self.cores(x.shape[:-1].numel()):
            return self.head(self.normed(x, self.norm))

    def cores(self, n_rows: int) -> AbstractContextManager[None]:
        """Leave the cores to the library that will multiply so many rows."""
        streamed = n_rows == 1 and isinstance(self.head, Streamed)
        return cores_to_blas() if streamed else nullcontext()

    @property
    def linears(self) -> Iterator[Linear]:
        """Every matrix a decode step multiplies by."""
        for layer in self.layers:
            yield from (layer.qkv, layer.out, layer.gate_up, layer.down)
        yield self.head

    @property
    def nbytes_read_per_step(self) -> int:
        """Weight bytes one decode step must read: every matrix once, and the norms."""
        norms = [getattr(layer, f.name) for layer in self.layers for f in fields(layer)]
        n_norms = sum(x.nbytes for x in [*norms, self.norm] if isinstance(x, Tensor))
        return n_norms + sum(linear.nbytes for linear in self.linears)
