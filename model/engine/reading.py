"""How the new tokens of one pass stand among the kept rows: positions, masks, and the kernel."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from model.engine.rotary import Angles, RotaryTable
from model.masks import Predicate, causal, mask
from model.storage.base import Storage

Heads = Float[Tensor, "batch heads new d_head"]
QueriesKeys = Float[Tensor, "batch heads_and_kv_heads new d_head"]
Rows = Float[Tensor, "batch kv_heads seen d_head"]
NewRows = Float[Tensor, "batch kv_heads new d_head"]
Allowed = Bool[Tensor, "#batch 1 new seen"]
RowHeads = Float[np.ndarray, "heads d_head"]
RowQueriesKeys = Float[np.ndarray, "heads_and_kv_heads d_head"]
RowValues = Float[np.ndarray, "kv_heads d_head"]

SHORT = 384
"""Rows up to which NumPy mixes them faster than PyTorch's kernel starts (36 to 52 microseconds
at 192 rows of 3 heads, 275 to 180 at 1,024)."""


class Reading(ABC):
    """Made for one pass, the same for every layer of it."""

    @abstractmethod
    def attend(self, qk: QueriesKeys, v: NewRows, store: Storage | None) -> Heads:
        """Place queries and keys, keep the keys and values, and mix what may be read.

        qk: the query heads, then the key heads, of the new tokens, before their positions.
        """

    def attend_row(self, qk: RowQueriesKeys, v: RowValues, store: Storage | None) -> RowHeads:
        """The same for one new token of one text whose numbers NumPy holds."""
        return self.attend(as_heads(qk), as_heads(v), store)[0, :, 0].numpy()


@dataclass(kw_only=True)
class TurnedOnWrite(Reading):
    """Keys are turned by their own position once, then kept turned."""

    angles: Angles
    may_read: Predicate
    query_positions: Int[Tensor, " new"]
    valid: Bool[Tensor, "batch seen"] | None = None
    exact: bool = False
    """The store hands out just the rows one new token may read: then there is nothing to mask."""
    _allowed: Allowed | None = None

    def attend(self, qk: QueriesKeys, v: NewRows, store: Storage | None) -> Heads:
        q, k = self.angles.turn(qk).tensor_split([-v.shape[1]], dim=1)
        if store is not None:  # the only line a KV cache adds
            k, v = store.append(k, v)
        return self._mix(q, k, v, store)

    def attend_row(self, qk: RowQueriesKeys, v: RowValues, store: Storage | None) -> RowHeads:
        if store is None or not self._all_readable or store.length >= SHORT:
            return super().attend_row(qk, v, store)
        turned = self.angles.turn_row(qk)
        q, k = turned[: -len(v)], turned[-len(v) :]
        k_rows, v_rows = store.append(as_heads(k), as_heads(v))
        return mix_row(q, k_rows[0].numpy(), v_rows[0].numpy())

    @property
    def _all_readable(self) -> bool:
        """Say whether one new token may read every row that it is handed."""
        return self.exact and self.valid is None

    def _mix(self, q: Heads, k: Rows, v: Rows, store: Storage | None) -> Heads:
        if self._all_readable and q.shape[2] == 1:
            return one_query(q, k, v, None)
        if self.may_read is causal and self.valid is None and q.shape[2] == k.shape[2]:
            # nothing came before: the one case in which is_causal aligns as it should
            return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        allowed = self._allowed_rows(k.shape[2], store)
        return one_query(q, k, v, allowed) if q.shape[2] == 1 else queries(q, k, v, allowed)

    def _allowed_rows(self, seen: int, store: Storage | None) -> Allowed:
        """Write the mask once a pass: all layers keep the same positions."""
        if self._allowed is None:
            here = self.query_positions
            positions = torch.arange(seen, device=here.device) if store is None else store.positions
            allowed = mask(self.may_read, here, positions)[None, None]
            if self.valid is not None:
                allowed = allowed & self.valid[:, None, None, positions]
            self._allowed = allowed
        return self._allowed


@dataclass(kw_only=True)
class TurnedOnRead(Reading):
    """Keys are kept as projected and turned at every read, by their place in the cache.

    For stores in which rows move up when others leave (StreamingLLM, arXiv 2309.17453).
    """

    table: RotaryTable

    def attend(self, qk: QueriesKeys, v: NewRows, store: Storage | None) -> Heads:
        q, k = qk.tensor_split([-v.shape[1]], dim=1)
        places = torch.arange(k.shape[2], device=k.device)
        if store is not None:
            k, v = store.append(k, v)
            places = store.positions
        seen, new = k.shape[2], q.shape[2]
        q = self.table.span(seen - new, new).turn(q)
        k = self.table.at(places[None]).turn(k)
        if new == 1:
            return one_query(q, k, v, None)
        last = torch.arange(seen - new, seen, device=k.device)
        return queries(q, k, v, (places <= last[:, None])[None, None])


def one_query(q: Heads, k: Rows, v: Rows, allowed: Allowed | None) -> Heads:
    """Let the query heads that share a key/value head go in as its rows, with no copies."""
    batch, heads, _, d_head = q.shape
    shared = q.reshape(batch, k.shape[1], heads // k.shape[1], d_head)
    mixed = scaled_dot_product_attention(shared, k, v, attn_mask=allowed)
    return mixed.reshape(batch, heads, 1, v.shape[-1])


def queries(q: Heads, k: Rows, v: Rows, allowed: Allowed) -> Heads:
    """Attend from several queries. The mask is explicit: is_causal would align top left."""
    return scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)


def as_heads(rows: Float[np.ndarray, "any_heads d_head"]) -> Float[Tensor, "1 any_heads 1 d_head"]:
    """Show one token's heads to PyTorch, in place: a batch of one text with one new token."""
    return torch.from_numpy(rows)[None, :, None]


def mix_row(
    q: RowHeads,
    k: Float[np.ndarray, "kv_heads seen d_head"],
    v: Float[np.ndarray, "kv_heads seen d_head"],
) -> RowHeads:
    """Attend from one token to all rows: the attention of the first lesson, in NumPy."""
    kv_heads, _, d_head = k.shape
    scores = q.reshape(kv_heads, -1, d_head) @ k.swapaxes(1, 2) / math.sqrt(d_head)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ v).reshape(q.shape)
