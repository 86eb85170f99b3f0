"""Attention that walks the block table instead of gathering the rows first."""

from collections.abc import Iterator

from jaxtyping import Bool, Float
from torch import Tensor

from model.attention.attend import masked_scores, share_heads
from model.attention.online_softmax import absorb
from model.serving.paged import PagedLayer


def attend_through_table(
    q: Float[Tensor, "heads new d_key"],
    store: PagedLayer,
    mask: Bool[Tensor, "new seen"] | None = None,
) -> Float[Tensor, "heads new d_value"]:
    """`attend` over a paged layer, one block at a time; equal to it up to rounding.

    Only the online softmax makes this possible: no block knows the maximum of the others.
    """
    *_, last = absorb(_blocks(q, store, mask))
    return last.result()


def _blocks(
    q: Float[Tensor, "heads new d_key"], store: PagedLayer, mask: Tensor | None
) -> Iterator[tuple[Tensor, Tensor]]:
    size = store.pool.tables.block_size
    for index, block in enumerate(store.table.blocks):
        filled = slice(0, max(min(store.length - index * size, size), 0))
        k = store.pool.k[store.layer][block, filled].transpose(0, 1)
        v = store.pool.v[store.layer][block, filled].transpose(0, 1)
        seen = None if mask is None else mask[:, index * size : index * size + k.shape[-2]]
        yield (
            masked_scores(q, share_heads(k, q.shape[-3]), seen, scale=None),
            share_heads(v, q.shape[-3]),
        )
