"""The first tokens and the last ones: attention sinks, StreamingLLM.

Source: arXiv 2309.17453; mit-han-lab/streaming-llm streaming_llm/kv_cache.py.
"""

from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from model.errors import BadInput
from model.storage.base import KeyRows, NewKeys, NewValues, Room, Storage, ValueRows
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring


class SinkWindow(Storage):
    """`sinks` first rows that stay, a ring of `window` rows for all later ones.

    Rows keep the positions they were written with, so there is a gap; this is exactly the
    mask `window_with_sinks`.
    """

    def __init__(self, room: Room, *, window: int, sinks: int) -> None:
        super().__init__(room)
        if sinks < 1:
            message = f"a sink store keeps at least 1 first token, got {sinks}: use a ring"
            raise BadInput(message)
        self.sinks, self.window = sinks, window
        self.first = Contiguous(replace(room, capacity=sinks))
        self.recent = Ring(room, window=window)

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        n_first = min(max(self.sinks - self.length, 0), k.shape[-2])
        first_k, first_v = self.first.append(k[..., :n_first, :], v[..., :n_first, :])
        recent_k, recent_v = self.recent.append(k[..., n_first:, :], v[..., n_first:, :])
        self.length += k.shape[-2]
        return torch.cat([first_k, recent_k], dim=-2), torch.cat([first_v, recent_v], dim=-2)

    def read(self) -> tuple[KeyRows, ValueRows]:
        first_k, first_v = self.first.read()
        recent_k, recent_v = self.recent.read()
        return torch.cat([first_k, recent_k], dim=-2), torch.cat([first_v, recent_v], dim=-2)

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return torch.cat([self.first.positions, self.recent.positions + self.sinks])

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.recent.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.first.nbytes_held + self.recent.nbytes_held

    def check_crop(self, n_tokens: int) -> None:
        super().check_crop(n_tokens)
        self.recent.check_crop(max(n_tokens - self.sinks, 0))

    def crop(self, n_tokens: int) -> None:
        self.check_crop(n_tokens)
        self.first.crop(min(n_tokens, self.sinks))
        self.recent.crop(max(n_tokens - self.sinks, 0))
        self.length = n_tokens

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.first.reorder(rows)
        self.recent.reorder(rows)


class Streaming(SinkWindow):
    """`SinkWindow` in which a row's position is its place in the cache, 0 to size - 1.

    The gap closes, so positions never exceed the cache and a model can run for ever. Keys
    must come *before* RoPE and be turned at every read (`AttentionRotatedOnRead`).
    """

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        new, room_left = k.shape[-2], self.sinks + self.window - self.length
        if new > max(room_left, 1):
            # each query of the chunk would need its own places for the sinks
            message = (
                f"{new} tokens at once do not fit in {max(room_left, 0)} free rows: "
                f"feed those beyond them one at a time"
            )
            raise BadInput(message)
        return super().append(k, v)

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return super().positions.argsort().argsort()  # rank in order of arrival
