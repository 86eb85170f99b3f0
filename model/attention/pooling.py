"""From many key/value heads to few: average the heads of each group (GQA, arXiv 2305.13245).

The mean commutes with RoPE, so weights are pooled, not keys. It is where further training
starts, exact only if the heads of a group were equal.
"""

from dataclasses import replace
from typing import cast

from jaxtyping import Float
from torch import Tensor

from model.attention.heads import KeyValueHeads
from model.decoder import Decoder
from model.errors import BadInput


def pool_heads(
    weight: Float[Tensor, "width d_model"], n_heads: int, n_groups: int
) -> Float[Tensor, "pooled d_model"]:
    """Average the rows of neighbouring heads, `n_heads` of them, down to `n_groups`.

    >>> import torch
    >>> pool_heads(torch.tensor([[1.0], [3.0], [2.0], [6.0]]), 4, 2).flatten().tolist()
    [2.0, 4.0]
    """
    if n_heads % n_groups:
        message = f"{n_heads} heads do not pool into {n_groups} groups: use a divisor of {n_heads}"
        raise BadInput(message)
    return weight.unflatten(0, (n_groups, n_heads // n_groups, -1)).mean(dim=1).flatten(0, 1)


def with_fewer_kv_heads(decoder: Decoder, n_kv_heads: int) -> Decoder:
    """Return a decoder of the same weights whose key/value heads are pooled to `n_kv_heads`."""
    config = decoder.config
    pooled = Decoder(replace(config, n_kv_heads=n_kv_heads), seed=0)
    weights = decoder.state_dict()
    for name, module in decoder.named_modules():
        if isinstance(module, KeyValueHeads):
            for projection in ("k", "v"):
                key = f"{name}.{projection}.weight"
                weights[key] = pool_heads(
                    cast("Tensor", weights[key]), config.n_kv_heads, n_kv_heads
                )
    pooled.load_state_dict(weights)
    return pooled
