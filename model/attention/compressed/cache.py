"""What a sequence has to keep: a window a layer, entries an owner, and unfinished groups."""

import copy
import math
from functools import partial

import torch

from model.attention.compressed.config import CompressedConfig
from model.storage.base import MakeStorage, Room, Storage
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring


class CompressedCache:
    """Windows by layer, entries and unfinished groups by owner.

    A row is one vector, key and value at once. Window rows go into their store in two parts,
    the turned channels apart; an entry goes with its index key.
    """

    def __init__(
        self,
        config: CompressedConfig,
        capacity: int,
        *,
        rows: MakeStorage = Contiguous,
        window: MakeStorage | None = None,
    ) -> None:
        """Reserve for `capacity` tokens; `rows` keeps entries, `window` a layer's last tokens."""
        self.config = config
        window = window or partial(Ring, window=config.window)
        plain = config.d_head - config.d_rope
        one = partial(Room, kv_heads=1)
        self.windows: list[Storage] = [
            window(one(d_key=plain, d_value=config.d_rope, capacity=capacity))
            for _ in range(config.n_layers)
        ]
        self.entries: dict[int, Storage] = {}
        self.unfinished: dict[int, Storage] = {}
        for owner in config.kv_sources:
            ratio = config.compress_ratios[owner]
            n_entries = math.ceil(capacity / ratio)
            self.entries[owner] = rows(
                one(d_key=config.d_head, d_value=config.d_index, capacity=n_entries)
            )
            if ratio > 1:
                group = one(d_key=config.d_head, d_value=config.d_head, capacity=ratio)
                self.unfinished[owner] = Ring(group, window=ratio)

    @property
    def length(self) -> int:
        """Tokens so far."""
        return self.windows[0].length

    @property
    def entry_bytes(self) -> int:
        """Bytes reserved for entries and index keys: the part that grows with the context."""
        return sum(store.nbytes for store in self.entries.values())

    @property
    def nbytes(self) -> int:
        """Bytes reserved in all."""
        fixed = (*self.windows, *self.unfinished.values())
        return self.entry_bytes + sum(store.nbytes for store in fixed)

    def crop(self, n_tokens: int) -> None:
        """Roll every store back, or raise BadInput and none."""
        counts = [(store, n_tokens) for store in (*self.windows, *self.unfinished.values())]
        for owner, store in self.entries.items():
            counts.append((store, n_tokens // self.config.compress_ratios[owner]))
        for store, n_rows in counts:
            store.check_crop(n_rows)
        for store, n_rows in counts:
            store.crop(n_rows)

    def fork(self) -> "CompressedCache":
        """Return a cache that continues from here on its own."""
        return copy.deepcopy(self)

    def last_positions(self, new: int) -> torch.Tensor:
        """Place `new` tokens after those seen."""
        return torch.arange(self.length, self.length + new)
