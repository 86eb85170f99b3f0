"""A ring: the row of position p sits in slot p mod n_rows, so the oldest is overwritten.

What the window hides may be dropped. Read it with a window mask by positions.
Source: Mistral, arXiv 2310.06825; mistralai/mistral-inference cache.py.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from model.config import check_positive
from model.errors import BadInput
from model.storage.base import (
    KeyRows,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
    check_room,
    pick_sequences,
)


class Ring(Storage):
    """The last `window` tokens (own one included), and `spare` older ones to roll back over.

    Bytes stop growing at window + spare rows. Rows are handed out in slot order: with the
    position inside each key, softmax does not care. Up to spare + 1 tokens can be written in
    place or rolled back; more new ones are attended before they overwrite anything.
    """

    def __init__(self, room: Room, *, window: int, spare: int = 0) -> None:
        super().__init__(room)
        check_positive("window", window)
        self.window, self.spare = window, spare
        self.n_rows = min(room.capacity, window + spare)
        self.k, self.v = room.empty(self.n_rows)
        self._held = torch.zeros(self.n_rows, dtype=torch.long, device=room.device)
        self._live = torch.zeros(self.n_rows, dtype=torch.bool, device=room.device)
        self._handed_out = self._held[:0]

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        new = k.shape[-2]
        if self.n_rows < self.window + self.spare:  # too small to ever wrap
            check_room(new, self.length, self.n_rows)
        if new <= self.spare + 1:
            self._write(k, v)
            return self.read()
        old_k, old_v = self.read()
        both = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2)
        new_positions = torch.arange(self.length, self.length + new, device=k.device)
        self._handed_out = torch.cat([self._handed_out, new_positions])
        self._write(k, v)  # only now: the old rows above are the slab itself
        return both

    def _write(self, k: NewKeys, v: NewValues) -> None:
        new = k.shape[-2]
        kept = min(new, self.n_rows)  # of a longer chunk only the end can stay
        positions = torch.arange(self.length + new - kept, self.length + new, device=k.device)
        slots = positions % self.n_rows
        self.k[..., slots, :], self.v[..., slots, :] = (
            k[..., new - kept :, :],
            v[..., new - kept :, :],
        )
        self._held[slots], self._live[slots] = positions, True
        self.length += new

    def skip(self, n_tokens: int) -> None:
        self.length += n_tokens

    def read(self) -> tuple[KeyRows, ValueRows]:
        if self._live.all():
            self._handed_out = self._held.clone()
            return self.k, self.v
        slots = self._live.nonzero().squeeze(-1)
        self._handed_out = self._held[slots]
        return self.k[..., slots, :], self.v[..., slots, :]

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return self._handed_out

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.nbytes * int(self._live.sum()) // self.n_rows

    def check_crop(self, n_tokens: int) -> None:
        super().check_crop(n_tokens)
        needed = torch.arange(
            max(0, n_tokens - self.window + 1), n_tokens, device=self._held.device
        )
        slots = needed % self.n_rows
        if not (self._live[slots] & (self._held[slots] == needed)).all():
            message = (
                f"cannot roll back {self.length - n_tokens} tokens: the ring has overwritten rows "
                f"that token {n_tokens} reads, make it with spare={self.length - n_tokens - 1}"
            )
            raise BadInput(message)

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        self._live &= self._held < n_tokens
        self.length = n_tokens
        self.read()

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.k = pick_sequences(self.k, rows, self.room)
        self.v = pick_sequences(self.v, rows, self.room)
