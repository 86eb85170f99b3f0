"""What a smaller store really holds: the codes, and the scales they are multiplied with."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from model.storage.base import Storage
from model.storage.codecs import Fp4, Fp8
from model.storage.codecs.base import Codec, from_bytes
from model.storage.codecs.int8 import Int8
from model.storage.codecs.minifloat import E2M1, E4M3
from model.storage.codecs.packing import unpack
from model.storage.kivi import Groups, Kivi
from model.storage.quantised import Quantised


class Codes(NamedTuple):
    """A number for every number stored: it reads back as zero + units * scale."""

    units: Float[Tensor, "*layers kv_heads seen d_head"]
    scale: Float[Tensor, "*layers kv_heads seen d_head"]
    zero: Float[Tensor, "*layers kv_heads seen d_head"]


def codes_of(store: Storage) -> tuple[Codes, Codes]:
    """Codes of the keys and of the values."""
    if isinstance(store, Kivi):
        return kivi_keys(store), kivi_values(store)
    if isinstance(store, Quantised):
        k, v = store.rows.read()
        room = store.room
        return row_codes(store.key, k, room.d_key), row_codes(store.value, v, room.d_value)
    raise TypeError(f"no codes are known for a {type(store).__name__}")


def row_codes(codec: Codec, rows: Tensor, width: int) -> Codes:
    """Take apart the bytes of rows that were coded each alone."""
    if isinstance(codec, Int8):
        units = from_bytes(rows[..., :width], torch.int8)
        scale = from_bytes(rows[..., width:], torch.float32)
    elif isinstance(codec, Fp8):
        units, scale = codec.number.decode(rows), torch.ones(())
    elif isinstance(codec, Fp4):
        packed, scales = rows.tensor_split([width // 2], dim=-1)
        units = E2M1.decode(unpack(packed, E2M1.n_bits))
        scale = E4M3.decode(scales).repeat_interleave(codec.block, dim=-1)
    else:
        raise TypeError(f"no codes are known for a {type(codec).__name__}")
    units = units.double()
    return Codes(units, scale.double().expand_as(units).clone(), torch.zeros_like(units))


def kivi_keys(store: Kivi) -> Codes:
    """Old keys by channel and group of words; the recent ones are what they are."""
    old = (part.mT for part in group_codes(store.k_old, store))
    return with_recent(Codes(*old), store.k_recent)


def kivi_values(store: Kivi) -> Codes:
    """Old values by word and group of channels; the recent ones are what they are."""
    return with_recent(group_codes(store.v_old, store), store.v_recent)


def group_codes(groups: Groups, store: Kivi) -> Codes:
    units = unpack(groups.codes, store.n_bits).double()
    scale, zero = (
        part.double().unsqueeze(-1).expand_as(units).flatten(-2)
        for part in (groups.scale, groups.zero)
    )
    return Codes(units.flatten(-2), scale, zero)


def with_recent(old: Codes, recent: Tensor) -> Codes:
    nothing = torch.zeros_like(recent)
    parts = zip(old, (nothing, nothing, recent), strict=True)
    return Codes(*(torch.cat(pair, dim=-2) for pair in parts))
