"""Several tokens become one entry: a gated mean over the group, then a norm.

Groups do not overlap; an entry is there once its group is complete, until then the window
covers its tokens. The unfinished group's projections have to be remembered too.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.attention.compressed.config import CompressedConfig
from model.layers import linear, rms_norm
from model.rope import pairs, rotate
from model.storage.base import Storage


def rotate_tail(
    x: Float[Tensor, "*heads new width"], positions: Int[Tensor, " new"], d_rope: int, base: float
) -> Float[Tensor, "*heads new width"]:
    """Turn the last `d_rope` channels by their positions (adjacent channels are partners)."""
    plain, tail = x[..., :-d_rope], x[..., -d_rope:]
    return torch.cat([plain, rotate(tail, positions, base, pairs)], dim=-1)


class Compressor(nn.Module):
    """Makes entries of `ratio` tokens: each channel weighs the tokens of a group by softmax."""

    def __init__(self, config: CompressedConfig, ratio: int, generator: torch.Generator) -> None:
        super().__init__()
        self.ratio = ratio
        self.row = linear(config.d_model, config.d_head, generator)
        self.gate = linear(config.d_model, config.d_head, generator)
        self.norm = rms_norm(config.d_head)

    def forward(
        self, x: Float[Tensor, "new d_model"], unfinished: Storage
    ) -> Float[Tensor, "entries d_head"]:
        """Return the entries that the new tokens complete, oldest first, not yet turned."""
        done = unfinished.length // self.ratio
        rows, gates = unfinished.append(self.row(x).unsqueeze(0), self.gate(x).unsqueeze(0))
        complete = unfinished.length // self.ratio
        order = unfinished.positions.argsort()
        places = unfinished.positions[order]
        wanted = order[(places >= done * self.ratio) & (places < complete * self.ratio)]
        shape = (complete - done, self.ratio)
        weights = gates[0, wanted].unflatten(0, shape).softmax(dim=1)
        return self.norm((weights * rows[0, wanted].unflatten(0, shape)).sum(dim=1))


class EntryPerToken(nn.Module):
    """Ratio 1: a group of one needs no gate."""

    def __init__(self, config: CompressedConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.row = linear(config.d_model, config.d_head, generator)
        self.norm = rms_norm(config.d_head)

    def forward(
        self, x: Float[Tensor, "new d_model"], _unfinished: Storage | None
    ) -> Float[Tensor, "new d_head"]:
        return self.norm(self.row(x))


class EntryWriter(nn.Module):
    """An owner's part: entries and their index keys, turned and given to the store.

    The index key is made from the entry before its rotation; entry g stands at position
    g * ratio.
    """

    def __init__(self, config: CompressedConfig, layer: int, generator: torch.Generator) -> None:
        super().__init__()
        self.config, self.ratio = config, config.compress_ratios[layer]
        one = self.ratio == 1
        self.compress = (
            EntryPerToken(config, generator) if one else Compressor(config, self.ratio, generator)
        )
        self.index_key = linear(config.d_head, config.d_index, generator)
        self.index_norm = rms_norm(config.d_index)

    def forward(
        self, x: Float[Tensor, "new d_model"], store: Storage, unfinished: Storage | None
    ) -> tuple[Float[Tensor, "entries d_head"], Float[Tensor, "entries d_index"]]:
        """Add what the new tokens complete; return all entries and index keys so far."""
        config, base = self.config, self.config.compressed_rope_base
        raw = self.compress(x, unfinished)
        positions = self.ratio * torch.arange(store.length, store.length + len(raw))
        entries = rotate_tail(raw.unsqueeze(0), positions, config.d_rope, base)
        keys = self.index_norm(self.index_key(raw)).unsqueeze(0)
        keys = rotate_tail(keys, positions, config.d_index_rope, base)
        entries, keys = store.append(entries, keys)
        return entries[0], keys[0]
