"""Which key-value head each query head reads, found by letting the heads carry their numbers."""

import torch
from torch import Tensor

from model.attention.attend import share_heads


def _numbered(n_kv_heads: int) -> Tensor:
    return torch.arange(n_kv_heads).reshape(n_kv_heads, 1, 1)


def heads_read(n_heads: int, n_kv_heads: int) -> list[int]:
    """The key-value head of each query head: contiguous groups (arXiv 2305.13245).

    >>> heads_read(4, 2)
    [0, 0, 1, 1]
    """
    return share_heads(_numbered(n_kv_heads), n_heads).flatten().tolist()


def heads_dealt(n_heads: int, n_kv_heads: int) -> list[int]:
    """The same, dealt out in turn: the order that breaks weights trained with the other.

    >>> heads_dealt(4, 2)
    [0, 1, 0, 1]
    """
    return torch.cat([_numbered(n_kv_heads)] * (n_heads // n_kv_heads)).flatten().tolist()
