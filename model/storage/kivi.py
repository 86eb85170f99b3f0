"""KIVI: keys coded per channel over groups of tokens, values per token, recent rows as they are.

Keys have channels with large offsets: a range per channel does not pay for them.
Source: arXiv 2402.02750; jy-yuan/KIVI models/llama_kivi.py, quant/new_pack.py.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from model.errors import BadInput
from model.storage.base import (
    KeyRows,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
    pick_sequences,
)
from model.storage.codecs.base import check_blocks
from model.storage.codecs.packing import pack, unpack


class Groups(NamedTuple):
    """Asymmetric integers: x is about zero + code * scale within each group."""

    codes: UInt8[Tensor, "*shape n_groups n_bytes"]
    scale: Float[Tensor, "*shape n_groups"]
    zero: Float[Tensor, "*shape n_groups"]


def encode_groups(x: Float[Tensor, "*shape n_groups group"], n_bits: int) -> Groups:
    """Spread 2^n_bits codes evenly from each group's smallest number to its largest.

    Scale and zero are float16; off by at most scale / 2 and their rounding.
    """
    top = (1 << n_bits) - 1
    low, high = x.double().aminmax(dim=-1)
    zero = low.half()
    scale = ((high - low) / top).half()
    step = scale.double().masked_fill(scale == 0, 1.0).unsqueeze(-1)  # a constant group: code 0
    codes = ((x.double() - zero.double().unsqueeze(-1)) / step).round().clamp(0, top)
    return Groups(pack(codes.to(torch.uint8), n_bits), scale, zero)


def decode_groups(groups: Groups, n_bits: int) -> Float[Tensor, "*shape n_groups group"]:
    """Undo `encode_groups` as far as the codes allow, in float64."""
    codes = unpack(groups.codes, n_bits).double()
    return groups.zero.double().unsqueeze(-1) + codes * groups.scale.double().unsqueeze(-1)


class Kivi(Storage):
    """Old rows in `n_bits` with float16 scale and zero per `group`; it grows with the tokens.

    Keys wait as they are until `residual` of them are coded at once (a group spans tokens);
    the last `residual` values stay as they are. `room.capacity` is no limit.
    """

    def __init__(
        self, room: Room, *, n_bits: int = 2, group: int = 32, residual: int = 128
    ) -> None:
        super().__init__(room)
        check_blocks(residual, group)
        check_blocks(room.d_value, group)
        self.n_bits, self.group, self.residual = n_bits, group, residual
        self._clear()

    def _clear(self) -> None:
        self.length = 0
        self.k_recent, self.v_recent = self.room.empty(0)
        self.k_old = self._encode_keys(self.k_recent)  # [*batch kv_heads d_key n_groups]
        self.v_old = self._encode_values(self.v_recent)  # [*batch kv_heads tokens n_groups]

    def _encode_keys(self, k: NewKeys) -> Groups:
        return encode_groups(
            k.mT.unflatten(-1, (k.shape[-2] // self.group, self.group)), self.n_bits
        )

    def _encode_values(self, v: NewValues) -> Groups:
        return encode_groups(v.unflatten(-1, (-1, self.group)), self.n_bits)

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        self.length += k.shape[-2]
        k, v = torch.cat([self.k_recent, k], dim=-2), torch.cat([self.v_recent, v], dim=-2)
        n_k = k.shape[-2] // self.residual * self.residual
        n_v = max(v.shape[-2] - self.residual, 0)
        k_old, self.k_recent = self._encode_keys(k[..., :n_k, :]), k[..., n_k:, :].clone()
        v_old, self.v_recent = self._encode_values(v[..., :n_v, :]), v[..., n_v:, :].clone()
        self.k_old = _join(self.k_old, k_old, group_axis=-1)
        self.v_old = _join(self.v_old, v_old, group_axis=-2)
        return self.read()

    def read(self) -> tuple[KeyRows, ValueRows]:
        k_old = decode_groups(self.k_old, self.n_bits).flatten(-2).mT.to(self.room.dtype)
        v_old = decode_groups(self.v_old, self.n_bits).flatten(-2).to(self.room.dtype)
        return torch.cat([k_old, self.k_recent], dim=-2), torch.cat([v_old, self.v_recent], dim=-2)

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return torch.arange(self.length, device=self.k_recent.device)

    @property
    def nbytes(self) -> int:
        kept = (*self.k_old, *self.v_old, self.k_recent, self.v_recent)
        return sum(tensor.nbytes for tensor in kept)

    @property
    def nbytes_held(self) -> int:
        return self.nbytes

    def check_crop(self, n_tokens: int) -> None:
        super().check_crop(n_tokens)
        coded = self.length >= self.residual
        if coded and n_tokens not in {0, self.length}:
            message = (
                f"cannot crop to {n_tokens} of {self.length} tokens: rows are coded once "
                f"{self.residual} have come and cannot be restored, fork before you try"
            )
            raise BadInput(message)

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        if n_tokens == 0:
            self._clear()
        if n_tokens < self.length:
            self.k_recent = self.k_recent[..., :n_tokens, :].clone()
            self.v_recent = self.v_recent[..., :n_tokens, :].clone()
            self.length = n_tokens

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.k_recent = pick_sequences(self.k_recent, rows, self.room)
        self.v_recent = pick_sequences(self.v_recent, rows, self.room)
        self.k_old = Groups(*(pick_sequences(part, rows, self.room) for part in self.k_old))
        self.v_old = Groups(*(pick_sequences(part, rows, self.room) for part in self.v_old))
        self.room = replace(self.room, batch=(len(rows),))


def _join(old: Groups, new: Groups, group_axis: int) -> Groups:
    codes = torch.cat([old.codes, new.codes], dim=group_axis - 1)
    scale = torch.cat([old.scale, new.scale], dim=group_axis)
    return Groups(codes, scale, torch.cat([old.zero, new.zero], dim=group_axis))
