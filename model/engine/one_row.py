"""One new token on a processor: the same layer as in `model.engine.model`, in NumPy.

A decode step asks for some 500 operations on a few hundred numbers each. Between two of them
the weights have pushed PyTorch's dispatcher out of the caches, so each costs 5 to 30
microseconds; NumPy's cost 1 to 5. The stores are the same, and where a text is long PyTorch's
kernel still mixes the answers.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.engine.config import EngineConfig
from model.engine.layer import Layer
from model.engine.reading import Reading, RowQueriesKeys
from model.storage.base import Storage

Row = Float[np.ndarray, " d_model"]


class OneRow:
    """All layers of one model, for one token of one text."""

    def __init__(self, config: EngineConfig, layers: Sequence[Layer]) -> None:
        self.config = config
        self.layers = [RowLayer(config, layer) for layer in layers]

    def hidden(
        self, x: Float[Tensor, " d_model"], stores: Sequence[Storage | None], reading: Reading
    ) -> Float[Tensor, " d_model"]:
        """Run one embedded token through every layer."""
        row = x.numpy()
        with np.errstate(over="ignore"):  # silu of a very negative gate: exp is inf, the gate 0
            for layer, store in zip(self.layers, stores, strict=True):
                row = row + layer.attention(row, store, reading)
                row = row + layer.feed_forward(row)
        return torch.from_numpy(row)


class RowLayer:
    """One layer, its weights looked at in place."""

    def __init__(self, config: EngineConfig, layer: Layer) -> None:
        self.config, self.layer = config, layer
        self.attention_norm = layer.attention_norm.numpy()
        self.feed_forward_norm = layer.feed_forward_norm.numpy()
        self.head_norms = head_norms(config, layer)

    def attention(self, x: Row, store: Storage | None, reading: Reading) -> Row:
        """Ask every row that may be read one question per head, and mix the answers."""
        c = self.config
        heads = self.layer.qkv.row(self.normed(x, self.attention_norm)).reshape(-1, c.d_head)
        first_value = c.n_heads + c.n_kv_heads
        qk, v = self.normed_heads(heads[:first_value]), heads[first_value:]
        return self.layer.out.row(reading.attend_row(qk, v, store).reshape(-1))

    def normed_heads(self, qk: RowQueriesKeys) -> RowQueriesKeys:
        """Norm queries and keys head by head, before their positions (Qwen3)."""
        if self.head_norms is None:
            return qk
        mean_square = np.vecdot(qk, qk)[:, None] / qk.shape[-1]
        return qk / np.sqrt(mean_square + self.config.norm_eps) * self.head_norms

    def feed_forward(self, x: Row) -> Row:
        """Gate, multiply, project back."""
        both = self.layer.gate_up.row(self.normed(x, self.feed_forward_norm))
        gate, up = both[: both.size // 2], both[both.size // 2 :]
        return self.layer.down.row(gate / (1 + np.exp(-gate)) * up)

    def normed(self, x: Row, weight: Row) -> Row:
        """Divide the row by its root mean square, then scale the channels."""
        return x / math.sqrt(x @ x / x.size + self.config.norm_eps) * weight


def head_norms(config: EngineConfig, layer: Layer) -> RowQueriesKeys | None:
    """Line the norm weights of every query head and every key head up; None if there are none."""
    if layer.q_norm is None or layer.k_norm is None:
        return None
    q, k = layer.q_norm.numpy(), layer.k_norm.numpy()
    return np.stack([q] * config.n_heads + [k] * config.n_kv_heads)
