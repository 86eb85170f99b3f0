"""One slab reserved in advance, filled from the front: an append copies only the new rows."""

import torch
from jaxtyping import Int
from torch import Tensor

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


class Contiguous(Storage):
    """A slab of `room.capacity` rows and the number of them in use."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.k, self.v = room.empty(room.capacity)

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        new = k.shape[-2]
        check_room(new, self.length, self.room.capacity)
        self.k.narrow(-2, self.length, new).copy_(k)
        self.v.narrow(-2, self.length, new).copy_(v)
        self.length += new
        return self.read()

    def read(self) -> tuple[KeyRows, ValueRows]:
        # the rest of the slab was never written: a zero key would still take weight
        return self.k.narrow(-2, 0, self.length), self.v.narrow(-2, 0, self.length)

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return torch.arange(self.length, device=self.k.device)

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.nbytes * self.length // self.room.capacity

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        self.length = n_tokens

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.k = pick_sequences(self.k, rows, self.room)
        self.v = pick_sequences(self.v, rows, self.room)
