"""What a store hands back when tokens write their own number: data for the figures of lesson 3."""

from collections.abc import Callable

import torch
from jaxtyping import Num
from torch import Tensor

from model.storage.base import Room, Storage
from model.storage.ring import Ring
from model.storage.sinks import Streaming

Rows = Num[Tensor, " rows"]
Order = Callable[[Rows, Rows], Rows]


def _room(capacity: int) -> Room:
    return Room(kv_heads=1, d_key=2, d_value=1, capacity=capacity)


def _tokens_kept(store: Storage, n_tokens: int, in_order: Order) -> list[list[int]]:
    """Feed tokens 0, 1, …; after each, the token behind every row handed back."""
    states = []
    for token in range(n_tokens):
        key = torch.full((1, 1, 2), float(token), dtype=torch.float64)
        keys, _ = store.append(key, key[..., :1])
        states.append([int(x) for x in in_order(keys[0, :, 0], store.positions).tolist()])
    return states


def _slots(rows: Rows, _positions: Rows) -> Rows:
    return rows


def _places(rows: Rows, positions: Rows) -> Rows:
    """Rows by the position each takes, whatever slot it stands in."""
    return rows[positions.argsort()]


def ring_slots(window: int, n_tokens: int) -> list[list[int]]:
    """Which token each slot of a ring of ``window`` rows holds after each of ``n_tokens``.

    >>> ring_slots(4, 10)[-1]
    [8, 9, 6, 7]
    """
    return _tokens_kept(Ring(_room(n_tokens), window=window), n_tokens, _slots)


def streaming_rows(window: int, sinks: int, n_tokens: int) -> list[list[int]]:
    """Which token each place of a StreamingLLM cache holds after each of ``n_tokens``.

    >>> streaming_rows(4, 4, 14)[-1]
    [0, 1, 2, 3, 10, 11, 12, 13]
    """
    if sinks == 0:  # a window alone, its rows put in order and numbered from 0
        return [sorted(slots) for slots in ring_slots(window, n_tokens)]
    store = Streaming(_room(n_tokens), window=window, sinks=sinks)
    return _tokens_kept(store, n_tokens, _places)
