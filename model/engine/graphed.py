"""One decode step with shapes that never change, so that a GPU can replay it as one CUDA graph.

Launching some hundred small kernels costs more than running them; a graph launches once. Every
slot of the slab is read under a mask, and the position is a tensor, so that nothing in the step
depends on how long the text is. Elsewhere the same step runs eagerly.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.cache import KVCache
from model.engine.model import LanguageModel
from model.engine.reading import NewRows, QueriesKeys, Reading, one_query
from model.engine.rotary import Angles, RotaryTable
from model.engine.session import Remembering, room_of
from model.storage.base import (
    KeyRows,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
    check_room,
)
from model.storage.contiguous import Contiguous


class FixedRows(Contiguous):
    """A slab that takes one row where `place` says and hands out all of its rows, filled or not."""

    def __init__(self, room: Room, place: Int[Tensor, " one"]) -> None:
        super().__init__(room)
        self.k.zero_()  # a slot that is masked must still hold a number
        self.v.zero_()
        self.place = place

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        if k.shape[-2] > 1:
            return super().append(k, v)
        self.k.index_copy_(-2, self.place, k)
        self.v.index_copy_(-2, self.place, v)
        return self.k, self.v  # whoever replays the step counts the token


@dataclass(kw_only=True)
class FixedReading(Reading):
    """Angles and mask follow from the position tensor alone."""

    table: RotaryTable
    place: Int[Tensor, " one"]

    def attend(
        self, qk: QueriesKeys, v: NewRows, store: Storage | None
    ) -> Float[Tensor, "batch heads new d_head"]:
        if store is None:
            message = "a fixed step writes into a slab: it needs a store"
            raise TypeError(message)
        angles = Angles(
            cos=self.table.cos[self.place][None, None],
            signed_sin=self.table.signed_sin[self.place][None, None],
        )
        q, k = angles.turn(qk).tensor_split([-v.shape[1]], dim=1)
        k, v = store.append(k, v)
        allowed = torch.arange(k.shape[2], device=k.device) <= self.place
        return one_query(q, k, v, allowed[None, None, None])


class Graphed(Remembering):
    """A session whose prompt is read as usual and whose words come from one repeated step."""

    def __init__(self, model: LanguageModel, capacity: int, *, batch: int = 1) -> None:
        super().__init__(model, 1, batch=batch)
        self.place = torch.zeros(1, dtype=torch.long, device=model.device)
        room = room_of(model, capacity, batch)
        self.cache = KVCache(FixedRows(room, self.place) for _ in model.layers)
        self.token = torch.zeros((batch, 1), dtype=torch.long, device=model.device)
        self.step = FixedReading(table=model.rotary, place=self.place)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.out = torch.empty(0)

    @torch.inference_mode()
    def feed(self, tokens: Int[Tensor, "batch new"]) -> Float[Tensor, "batch new d_model"]:
        if tokens.shape[1] > 1:
            return super().feed(tokens)
        start = self.cache[0].length
        self.model.rotary.span(start, 1)  # refuses a position past the context
        check_room(1, start, self.cache[0].room.capacity)
        self.place.fill_(start)
        self.token.copy_(tokens)
        hidden = self.replay() if self.model.device.type == "cuda" else self.run()
        for store in self.cache.stores:
            store.length += 1
        return hidden

    def run(self) -> Float[Tensor, "batch 1 d_model"]:
        return self.model.hidden(self.token, self.cache.stores, self.step)

    def replay(self) -> Float[Tensor, "batch 1 d_model"]:
        """Capture the step at its first use (after a few runs that warm it up), then replay it."""
        if self.graph is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):  # writes the same row at the same place each time
                    self.run()
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.run()
        self.graph.replay()
        return self.out
