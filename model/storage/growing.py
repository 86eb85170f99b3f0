"""Concatenate at every step: no capacity to guess, but each append copies all older rows."""

import torch
from jaxtyping import Int
from torch import Tensor

from model.storage.base import KeyRows, NewKeys, NewValues, Room, Storage, ValueRows, pick_sequences


class Growing(Storage):
    """Exactly the rows there are; n appends copy n(n+1)/2 rows. `room.capacity` is no limit."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.k, self.v = room.empty(0)

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        self.k, self.v = torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2)
        self.length += k.shape[-2]
        return self.read()

    def read(self) -> tuple[KeyRows, ValueRows]:
        return self.k, self.v

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return torch.arange(self.length, device=self.k.device)

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.nbytes

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        # clone: a view would keep the dropped rows' memory alive
        self.k = self.k[..., :n_tokens, :].clone()
        self.v = self.v[..., :n_tokens, :].clone()
        self.length = n_tokens

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.k = pick_sequences(self.k, rows, self.room)
        self.v = pick_sequences(self.v, rows, self.room)
