"""A sliding window at toy size: each word reads itself and the ones just before it.

A row that has left the window can never be read again, so it is not kept.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from model.toy.cache import Cache, NewKeys, NewValues, Seen
from model.toy.config import ToyConfig
from model.toy.network import Keeper, Network

WINDOW = 3


def windowed(new: int, seen: int) -> Bool[Tensor, "new seen"]:
    """Query a of the `new` last places reads the `WINDOW` keys that end at its own place.

    >>> windowed(2, 5).int().tolist()
    [[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    """
    readable = torch.ones(new, seen, dtype=torch.bool)
    return readable.tril(seen - new).triu(seen - new - WINDOW + 1)


class WindowCache(Cache):
    """The rows the next word may still read, and no others; takes one word at a time."""

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config, WINDOW)

    def append(self, k: NewKeys, v: NewValues) -> Seen:
        """Let the oldest row go when the window is full; keep the new one."""
        if self.length == WINDOW:
            # moved into new rows, not in place: who was handed the old ones may still read them
            self._k, self._v = (torch.roll(rows, -1, dims=-2) for rows in (self._k, self._v))
            self.length -= 1
        return super().append(k, v)


class WindowNetwork(Network):
    """The same parameters as the plain toy; a shorter reach."""

    mask = staticmethod(windowed)

    def caches(self, capacity: int) -> Sequence[Keeper]:  # noqa: ARG002 -- a window is enough
        return [WindowCache(self.config) for _ in range(self.config.n_layers)]
