"""Beam search for the toy's translation of one sentence, all beams fed in one pass.

What the source gives is the same for every beam of a sentence, so only the caches of the words
written change places.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.beam import BeamConfig, OwnCaches
from model.beam_record import record_beams
from model.cache import KVCache
from model.serving.paged import PagedPool
from model.serving.tables import BlockTables
from model.storage.base import KeyRows, NewKeys, NewValues, Room, Storage, ValueRows
from model.storage.contiguous import Contiguous
from model.toy.arithmetic import tensor_of
from model.toy.config import ToyConfig
from model.toy.translating import Reader, Sentence

BLOCK_SIZE = 2  # so that a short sentence has several
WIDTHS = (1, 2, 3, 4)


class SideBySide:
    """One layer's stores of several texts of one length, read and written as a batch."""

    def __init__(self, stores: Sequence[Storage]) -> None:
        self.stores = stores

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self.stores)

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        rows = [store.append(*new) for store, *new in zip(self.stores, k, v, strict=True)]
        keys, values = zip(*rows, strict=True)
        return torch.stack(keys), torch.stack(values)


class ToyBeams(OwnCaches):
    """Beams of one sentence's translation; they read the same source and share its rows."""

    def __init__(self, reader: Reader, new_cache: Callable[[], KVCache]) -> None:
        super().__init__(new_cache)
        self.reader = reader

    def start(self, prompt: Sequence[int]) -> Float[Tensor, "1 vocab"]:
        return self.reader.read(tensor_of(list(prompt)), 0, self.caches[0].stores)[-1:]

    def step(self, tokens: Int[Tensor, " beams"]) -> Float[Tensor, "beams vocab"]:
        layers = zip(*(cache.stores for cache in self.caches), strict=True)
        keepers = [SideBySide(stores) for stores in layers]
        return self.reader.read(tokens[:, None], self.caches[0].length, keepers)[:, 0]


def rooms(config: ToyConfig, capacity: int) -> list[Room]:
    """What the layers of the toy ask of a storage, for one text of `capacity` words."""
    heads, width = config.n_kv_heads, config.d_head
    room = Room(kv_heads=heads, d_key=width, d_value=width, capacity=capacity)
    return [room] * config.n_layers


def slabs(config: ToyConfig, capacity: int) -> Callable[[], KVCache]:
    """Caches that are copied whole."""
    return lambda: KVCache(Contiguous(room) for room in rooms(config, capacity))


def pages(config: ToyConfig, capacity: int, n_texts: int) -> PagedPool:
    """A pool in which `n_texts` texts have room while they change places."""
    blocks = 2 * n_texts * -(-capacity // BLOCK_SIZE)
    return PagedPool(rooms(config, capacity), BlockTables(blocks, BLOCK_SIZE))


def settings(sentence: Sentence, width: int, length_penalty: float = 0.0) -> BeamConfig:
    """Search as far as the toy may write, to the end mark."""
    return BeamConfig(
        width=width,
        new_tokens=sentence.source.max_written,
        stop=sentence.stop,
        length_penalty=length_penalty,
    )


def search(sentence: Sentence, width: int) -> dict[str, Any]:
    """Translate with this many beams, told step by step in ids; see `record_beams`."""
    config = settings(sentence, width)
    capacity = len(sentence.prompt) + config.new_tokens
    pool = pages(sentence.network.config, capacity, width)
    reader = Reader(sentence.network, sentence.source)
    return record_beams(ToyBeams(reader, pool.open), sentence.prompt, config)
