"""The weights of one layer of a Llama-family model, as whoever runs it finds them."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from model.engine.layers import Linear


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """Projections that read the same input are one matrix."""

    attention_norm: Float[Tensor, " d_model"]
    qkv: Linear
    q_norm: Float[Tensor, " d_head"] | None
    k_norm: Float[Tensor, " d_head"] | None
    out: Linear
    feed_forward_norm: Float[Tensor, " d_model"]
    gate_up: Linear
    down: Linear
