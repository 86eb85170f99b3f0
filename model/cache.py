"""The KV cache of a whole model: one store per layer that owns one."""

from collections.abc import Iterable

from jaxtyping import Int
from torch import Tensor

from model.errors import BadInput
from model.storage.base import Storage


class KVCache:
    """Stores that move together. Index it by layer; a pass appends to every one of them."""

    def __init__(self, stores: Iterable[Storage]) -> None:
        self.stores = tuple(stores)
        if not self.stores:
            message = "a cache of 0 stores holds nothing: give it at least 1"
            raise BadInput(message)

    def __getitem__(self, index: int) -> Storage:
        return self.stores[index]

    def __len__(self) -> int:
        return len(self.stores)

    @property
    def length(self) -> int:
        """Tokens so far, which is the position of the next one. Every store must agree."""
        lengths = {store.length for store in self.stores}
        if len(lengths) > 1:
            message = f"the layers disagree on the length of the cache: {sorted(lengths)}"
            raise BadInput(message)
        return lengths.pop()

    @property
    def nbytes(self) -> int:
        """Bytes reserved over all stores."""
        return sum(store.nbytes for store in self.stores)

    @property
    def nbytes_held(self) -> int:
        """Bytes that hold tokens now, over all stores."""
        return sum(store.nbytes_held for store in self.stores)

    def crop(self, n_tokens: int) -> None:
        """Roll every layer back to its first `n_tokens` tokens, or none of them."""
        for store in self.stores:
            store.check_crop(n_tokens)
        for store in self.stores:
            store.crop(n_tokens)

    def fork(self) -> "KVCache":
        """Return a cache that continues from here on its own."""
        return KVCache(store.fork() for store in self.stores)

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Make sequence i of the batch continue sequence rows[i], in every layer."""
        for store in self.stores:
            store.reorder(rows)
