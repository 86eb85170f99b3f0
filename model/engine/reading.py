"""How the new tokens of one pass stand among the kept rows: positions, masks, and the kernel."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

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


class Reading(ABC):
    """Made for one pass, the same for every layer of it."""

    @abstractmethod
    def attend(self, qk: QueriesKeys, v: NewRows, store: Storage | None) -> Heads:
        """Place queries and keys, keep the keys and values, and mix what may be read.

        qk: the query heads, then the key heads, of the new tokens, before their positions.
        """


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

    def _mix(self, q: Heads, k: Rows, v: Rows, store: Storage | None) -> Heads:
        if self.exact and self.valid is None and q.shape[2] == 1:
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
