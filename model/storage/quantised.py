"""Rows written in fewer bits: encode, keep the bytes in any other store, decode on read."""

from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from model.storage.base import (
    KeyRows,
    MakeStorage,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
)
from model.storage.codecs.base import Codec
from model.storage.contiguous import Contiguous


class Quantised(Storage):
    """Keys and values through a codec each; the bytes (scales too) live in a store of `rows`."""

    def __init__(
        self, room: Room, *, key: Codec, value: Codec, rows: MakeStorage = Contiguous
    ) -> None:
        super().__init__(room)
        self.key, self.value = key, value
        self.rows = rows(
            replace(
                room,
                d_key=key.row_bytes(room.d_key),
                d_value=value.row_bytes(room.d_value),
                dtype=torch.uint8,
            )
        )

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        rows = self.rows.append(self.key.encode(k), self.value.encode(v))
        self.length = self.rows.length
        return self._decode(*rows)

    def read(self) -> tuple[KeyRows, ValueRows]:
        return self._decode(*self.rows.read())

    def _decode(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        room = self.room
        return (
            self.key.decode(k, room.d_key, room.dtype),
            self.value.decode(v, room.d_value, room.dtype),
        )

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return self.rows.positions

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.rows.nbytes_held

    def check_crop(self, n_tokens: int) -> None:
        self.rows.check_crop(n_tokens)

    def crop(self, n_tokens: int) -> None:
        self.rows.crop(n_tokens)
        self.length = self.rows.length

    def skip(self, n_tokens: int) -> None:
        self.rows.skip(n_tokens)
        self.length = self.rows.length

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.rows.reorder(rows)
