"""Query heads that meet the wrong key/value head, or a copy of the right one."""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from model.attention.attend import share_heads
from model.attention.heads import Attention, Kept, KeyValueHeads, split_heads
from model.bugs.bench_decoder import with_attention, with_part
from model.bugs.bug import Bug
from model.bugs.windows import held
from model.storage.base import Room, Storage

LAWS = "tests/test_cache_laws.py::"


def tiled(
    x: Num[Tensor, "*batch kv_heads seen d"], n_heads: int
) -> Num[Tensor, "*batch heads seen d"]:
    """Deal the key/value heads out in turn, 0 1 0 1, instead of to neighbours, 0 0 1 1."""
    return torch.cat([x] * (n_heads // x.shape[-3]), dim=-3)


class KeyValueHeadsCopied(KeyValueHeads):
    """Makes a copy of each key/value head for every query head, and keeps the copies."""

    def forward(self, x: Float[Tensor, "new d_model"], store: Storage | None) -> Kept:
        k, v = (split_heads(part(x), self.config.n_kv_heads) for part in (self.k, self.v))
        positions = key_positions = self.parts.positions(store, x.shape[0])
        k = self.parts.rotate(k, positions, self.config.rope_base)
        k, v = share_heads(k, self.config.n_heads), share_heads(v, self.config.n_heads)
        if store is not None:
            k, v = store.append(k, v)
            key_positions = store.positions
        return Kept(k, v, key_positions, positions)


class KeepsEveryHead(Attention):
    """Keeps a row for each query head, though several of them are the same row."""

    write = KeyValueHeadsCopied

    def room(self, capacity: int) -> Room:
        d_head, heads = self.config.d_head, self.config.n_heads
        return Room(kv_heads=heads, d_key=d_head, d_value=d_head, capacity=capacity)


BUGS = {
    "gqa-tiled": Bug(
        id="gqa-tiled",
        title="Key/value heads dealt out in turn",
        story=(
            "Four query heads share two key/value heads, and neighbours share: 0 0 1 1. Copying "
            "the heads in turn gives 0 1 0 1, the same shapes and other pairs. With one "
            "key/value head, or as many as query heads, the two are the same, and so the usual "
            "small tests pass."
        ),
        source="onnx/onnx#7274",
        step="sharing-keys-and-values#groups",
        fix="Query head i reads key/value head i // (h / h_kv): repeat each head, do not tile.",
        right="model.attention.attend:share_heads",
        twin="model.bugs.heads:tiled",
        seam="share",
        bench=with_part("share"),
        caught_by=f"{LAWS}test_every_split_of_a_prompt_gives_the_logits_of_a_full_pass",
    ),
    "heads-copied": Bug(
        id="heads-copied",
        title="Shared heads, kept once for each query head",
        story=(
            "Grouped heads are copied out so that each query head has its own, and the copies go "
            "into the cache. Every word and every logit is right. The cache is as large as if "
            "nothing had been shared, which was the one thing sharing was for."
        ),
        source="meta-pytorch/torchtune#38",
        step="sharing-keys-and-values#groups",
        fix="Keep the key/value heads as projected and copy, or better index, at the read.",
        right="model.attention.heads:Attention",
        twin="model.bugs.heads:KeepsEveryHead",
        method="room",
        seam="attention",
        bench=with_attention(held),
        caught_by=f"{LAWS}test_a_cache_holds_the_bytes_the_formula_says",
    ),
}
