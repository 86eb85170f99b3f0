"""One layer: its own window, the chosen entries of its owner, a sink, one softmax over all."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from model import masks
from model.attention.compressed.config import CompressedConfig
from model.attention.compressed.entries import EntryWriter, rotate_tail
from model.attention.compressed.index import Indexer, best, best_blocks
from model.attention.heads import split_heads
from model.attention.sink import attend_with_sink
from model.layers import linear, rms_norm
from model.probe import Probe, ignore
from model.storage.base import Storage


class Choice(NamedTuple):
    """What one layer hands to the next: the owner's entries and which of them are read."""

    entries: Float[Tensor, "entries d_head"]
    index_keys: Float[Tensor, "entries d_index"]
    chosen: Bool[Tensor, "new entries"]
    candidates: Bool[Tensor, "new entries"]


class CompressedAttention(nn.Module):
    """Queries over window rows and entries; both are key and value in one vector."""

    def __init__(self, config: CompressedConfig, layer: int, generator: torch.Generator) -> None:
        super().__init__()
        self.config, self.layer, self.kind = config, layer, config.kind(layer)
        self.ratio = config.compress_ratios[layer]
        self.base = config.compressed_rope_base if self.ratio else config.rope_base
        self.query_down = linear(config.d_model, config.d_query, generator)
        self.query_norm = rms_norm(config.d_query)
        self.query_up = linear(config.d_query, config.n_heads * config.d_head, generator)
        self.window_row = linear(config.d_model, config.d_head, generator)
        self.window_norm = rms_norm(config.d_head)
        self.sink = nn.Parameter(
            torch.randn(config.n_heads, generator=generator, dtype=torch.float64)
        )
        if self.kind == "full":
            self.writer = EntryWriter(config, layer, generator)
        if self.kind in {"full", "reindex"}:
            self.indexer = Indexer(config, generator)
        group = config.n_heads * config.d_head // config.n_output_groups
        downs = (linear(group, config.d_output, generator) for _ in range(config.n_output_groups))
        self.output_down = nn.ModuleList(downs)
        self.output_up = linear(config.n_output_groups * config.d_output, config.d_model, generator)

    def forward(
        self,
        x: Float[Tensor, "new d_model"],
        window: Storage,
        below: Choice | None,
        probe: Probe = ignore,
    ) -> tuple[Float[Tensor, "new d_model"], Choice | None]:
        """Mix the new rows with what they may read; pass on the choice that was made."""
        positions = torch.arange(window.length, window.length + len(x))
        latent = self.query_norm(self.query_down(x))
        rows, row_mask = self.read_window(x, positions, window)
        choice = below
        if below is not None and self.kind != "window":
            choice = self.choose(x, latent, positions, below)
            rows = torch.cat([rows, choice.entries])
            row_mask = torch.cat([row_mask, choice.chosen], dim=-1)
            probe("chosen", choice.chosen)
        q = split_heads(self.query_up(latent), self.config.n_heads)
        q = rotate_tail(q, positions, self.config.d_rope, self.base)
        mixed, weights = attend_with_sink(q, rows[None], rows[None], self.sink, row_mask)
        probe("weights", weights)
        # values were turned with their keys: turn the mix back by the query's own place
        return self.output(rotate_tail(mixed, -positions, self.config.d_rope, self.base)), choice

    def choose(
        self,
        x: Float[Tensor, "new d_model"],
        latent: Float[Tensor, "new d_query"],
        positions: Int[Tensor, " new"],
        below: Choice,
    ) -> Choice:
        """Rank the owner's entries anew, or repeat the last choice."""
        if self.kind == "reuse":
            return below
        config = self.config
        # an entry can be read once its last token is there
        complete = (positions.unsqueeze(-1) + 1) // self.ratio
        visible = torch.arange(len(below.entries)) < complete
        scores = self.indexer(x, latent, positions, below.index_keys)
        candidates = visible
        if self.layer == config.candidate_source:
            blocks = config.candidate_block, config.n_candidate_blocks
            candidates = best_blocks(scores, visible, *blocks)
        elif self.layer > config.candidate_source:
            candidates = visible & below.candidates
        # the layer that finds the blocks still chooses among all
        among = visible if self.layer == config.candidate_source else candidates
        chosen = best(scores, among, config.top_k)
        return below._replace(chosen=chosen, candidates=candidates)

    def write(
        self, x: Float[Tensor, "new d_model"], entries: Storage, unfinished: Storage | None
    ) -> Choice:
        """Make and keep an owner's entries; nothing is chosen among them yet."""
        rows, index_keys = self.writer(x, entries, unfinished)
        nothing = torch.zeros(len(x), len(rows), dtype=torch.bool)
        return Choice(rows, index_keys, nothing, nothing)

    def read_window(
        self, x: Float[Tensor, "new d_model"], positions: Int[Tensor, " new"], window: Storage
    ) -> tuple[Float[Tensor, "rows d_head"], Bool[Tensor, "new rows"]]:
        """Keep the new tokens' rows; return those of the window and who may read them."""
        row = self.window_norm(self.window_row(x)).unsqueeze(0)
        turned = rotate_tail(row, positions, self.config.d_rope, self.base)
        plain, tail = window.append(*turned.tensor_split([-self.config.d_rope], dim=-1))
        may_read = masks.window(self.config.window)
        return torch.cat([plain, tail], dim=-1)[0], masks.mask(
            may_read, positions, window.positions
        )

    def output(self, mixed: Float[Tensor, "heads new d_head"]) -> Float[Tensor, "new d_model"]:
        """Project in two steps: each group of heads down on its own, then all up together."""
        groups = mixed.chunk(self.config.n_output_groups)
        low = [
            down(group.transpose(0, 1).flatten(1))
            for down, group in zip(self.output_down, groups, strict=True)
        ]
        return self.output_up(torch.cat(low, dim=-1))
