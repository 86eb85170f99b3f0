"""Which entries a query takes: a small scorer ranks all it may see, the best are read.

Source: DeepSeek-V3.2's lightning indexer, and its blocks of candidates in V4.1.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from model.attention.compressed.config import CompressedConfig
from model.attention.compressed.entries import rotate_tail
from model.layers import linear


def best(
    scores: Float[Tensor, "new items"], allowed: Bool[Tensor, "new items"], n_best: int
) -> Bool[Tensor, "new items"]:
    """Mark each row's `n_best` highest allowed items; of equals the earlier one.

    >>> best(torch.tensor([[3.0, 1.0, 2.0, 9.0]]), torch.tensor([[True] * 3 + [False]]), 2)
    tensor([[ True, False,  True, False]])
    """
    ranked = scores.masked_fill(~allowed, -torch.inf).sort(dim=-1, descending=True, stable=True)
    chosen = torch.zeros_like(allowed).scatter(-1, ranked.indices[..., :n_best], value=True)
    return chosen & allowed


def best_blocks(
    scores: Float[Tensor, "new items"],
    allowed: Bool[Tensor, "new items"],
    block: int,
    n_blocks: int,
) -> Bool[Tensor, "new items"]:
    """Mark all items of each row's `n_blocks` best blocks; a block is as good as its best item."""
    n_items = scores.shape[-1]
    short = -n_items % block
    padded = nn.functional.pad(
        scores.masked_fill(~allowed, -torch.inf), (0, short), value=-torch.inf
    )
    by_block = padded.unflatten(-1, (-1, block)).amax(dim=-1)
    chosen = best(by_block, by_block > -torch.inf, n_blocks)
    return chosen.repeat_interleave(block, dim=-1)[..., :n_items]


class Indexer(nn.Module):
    """Scores entry g for token t: sum over heads of w * ReLU(q . key), w from the token."""

    def __init__(self, config: CompressedConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        self.query = linear(config.d_query, config.n_index_heads * config.d_index, generator)
        self.weight = linear(config.d_model, config.n_index_heads, generator)

    def forward(
        self,
        x: Float[Tensor, "new d_model"],
        query_latent: Float[Tensor, "new d_query"],
        positions: Int[Tensor, " new"],
        keys: Float[Tensor, "entries d_index"],
    ) -> Float[Tensor, "new entries"]:
        config = self.config
        q = self.query(query_latent).unflatten(-1, (config.n_index_heads, -1)).transpose(0, 1)
        q = rotate_tail(q, positions, config.d_index_rope, config.compressed_rope_base)
        weight = self.weight(x) * (config.d_index * config.n_index_heads) ** -0.5
        return (weight.T.unsqueeze(-1) * (q @ keys.T).relu()).sum(dim=0)
