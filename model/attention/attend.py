"""Attention: every new token asks a question of every token it may see."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from model.errors import BadInput

Share = Callable[[Num[Tensor, "*batch kv_heads seen d"], int], Num[Tensor, "*batch heads seen d"]]


def causal_mask(
    query_positions: Int[Tensor, "*batch new"], key_positions: Int[Tensor, "*batch seen"]
) -> Bool[Tensor, "*batch new seen"]:
    """Say which keys each query may read: those that are not later than itself.

    Stated by positions, so no corner of the matrix has to be chosen:

    >>> causal_mask(torch.tensor([2, 3]), torch.arange(4)).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    return key_positions.unsqueeze(-2) <= query_positions.unsqueeze(-1)


def share_heads(
    x: Num[Tensor, "*batch kv_heads seen d"], n_heads: int
) -> Num[Tensor, "*batch heads seen d"]:
    """Give each query head its key/value head: query head i reads head i // (h / h_kv).

    Neighbouring query heads share (0 0 1 1), they are not dealt out in turn (0 1 0 1).
    Source: GQA, arXiv 2305.13245.
    """
    n_kv_heads = x.shape[-3]
    if n_heads % n_kv_heads:
        message = (
            f"{n_heads} query heads cannot share {n_kv_heads} key/value heads evenly: "
            f"use a divisor of {n_heads}"
        )
        raise BadInput(message)
    return x.repeat_interleave(n_heads // n_kv_heads, dim=-3)


def masked_scores(
    q: Float[Tensor, "*batch heads new d_key"],
    k: Float[Tensor, "*batch heads seen d_key"],
    mask: Bool[Tensor, "*#batch_heads new seen"] | None,
    scale: float | None,
) -> Float[Tensor, "*batch heads new seen"]:
    """Compare queries with keys, times scale (default 1 / sqrt(d_key)); -inf where masked."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def safe_softmax(scores: Float[Tensor, "*rows seen"]) -> Float[Tensor, "*rows seen"]:
    """Softmax over the keys; a query that may see no key gives no weight instead of NaN."""
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.softmax(dim=-1).masked_fill(blind, 0.0)


def attend(  # noqa: PLR0913, PLR0917 - the six things attention is a function of
    q: Float[Tensor, "*batch heads new d_key"],
    k: Float[Tensor, "*batch kv_heads seen d_key"],
    v: Float[Tensor, "*batch kv_heads seen d_value"],
    mask: Bool[Tensor, "*#batch_heads new seen"] | None = None,
    scale: float | None = None,
    share: Share = share_heads,
) -> tuple[Float[Tensor, "*batch heads new d_value"], Float[Tensor, "*batch heads new seen"]]:
    """Mix the values of the seen tokens, weighted by how well each key answers each query.

    Nothing here asks *when* a key was computed. That is the whole reason a cache is possible.
    The mask broadcasts over heads (give it a head axis when there is a batch).
    """
    n_heads = q.shape[-3]
    weights = safe_softmax(masked_scores(q, share(k, n_heads), mask, scale))
    return weights @ share(v, n_heads), weights
