"""A learned place to look when nothing is worth reading: one extra logit per head.

Sources: openai/gpt-oss gpt_oss/torch/model.py (`sdpa`); StreamingLLM, arXiv 2309.17453 (sink of
zero: softmax with one more in the denominator).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from model.attention.attend import masked_scores, share_heads


def softmax_with_sink(
    scores: Float[Tensor, "*batch heads new seen"], sink: Float[Tensor, " heads"]
) -> Float[Tensor, "*batch heads new seen"]:
    """Let the sink logit take its share of the weight, and hand out what remains.

    >>> softmax_with_sink(torch.tensor([[[1.0, 2.0]]]), torch.tensor([0.0])).round(decimals=5)
    tensor([[[0.2447, 0.6652]]])
    """
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], dim=-1).softmax(dim=-1)[..., :-1]


def attend_with_sink(  # noqa: PLR0913, PLR0917 - attention's arguments and the sink
    q: Float[Tensor, "*batch heads new d_key"],
    k: Float[Tensor, "*batch kv_heads seen d_key"],
    v: Float[Tensor, "*batch kv_heads seen d_value"],
    sink: Float[Tensor, " heads"],
    mask: Bool[Tensor, "*#batch_heads new seen"] | None = None,
    scale: float | None = None,
) -> tuple[Float[Tensor, "*batch heads new d_value"], Float[Tensor, "*batch heads new seen"]]:
    """Attend as ever, but weights of a query add up to less than 1; the sink has no value."""
    n_heads = q.shape[-3]
    scores = masked_scores(q, share_heads(k, n_heads), mask, scale)
    weights = softmax_with_sink(scores, sink)
    return weights @ share_heads(v, n_heads), weights
