"""Two keepers of keys and values: one forgets, one does not. That is all the difference."""

import torch
from jaxtyping import Float
from torch import Tensor

from model.errors import BadInput
from model.toy.config import ToyConfig

NewKeys = Float[Tensor, "*batch kv_heads new d_key"]
NewValues = Float[Tensor, "*batch kv_heads new d_value"]
Seen = tuple[
    Float[Tensor, "*batch kv_heads seen d_key"], Float[Tensor, "*batch kv_heads seen d_value"]
]


class Forgetful:
    """Keeps nothing: the keys and values just computed are all there are."""

    nbytes = 0

    def append(self, k: NewKeys, v: NewValues) -> Seen:
        return k, v


class Rows:
    """A pair of rows for every word fed so far; the two may differ in width."""

    def __init__(self, kv_heads: int, widths: tuple[int, int], capacity: int) -> None:
        self._k, self._v = (
            torch.empty(kv_heads, capacity, width, dtype=torch.float64) for width in widths
        )
        self.length = 0

    def append(self, k: NewKeys, v: NewValues) -> Seen:
        """Keep the new rows; return every row kept so far, oldest first."""
        start, self.length = self.length, self.length + k.shape[-2]
        self._k.narrow(-2, start, k.shape[-2]).copy_(k)
        self._v.narrow(-2, start, v.shape[-2]).copy_(v)
        return self.kept

    def crop(self, n_words: int) -> None:
        """Roll back to the rows of the first `n_words` words."""
        if not 0 <= n_words <= self.length:
            raise BadInput(f"cannot keep {n_words} rows of {self.length}: keep 0 to {self.length}")
        self.length = n_words

    @property
    def kept(self) -> Seen:
        return self._k[:, : self.length], self._v[:, : self.length]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows kept, measured on the tensors."""
        return sum(rows.nbytes for rows in self.kept)


class Cache(Rows):
    """One layer's keys and values."""

    def __init__(self, config: ToyConfig, capacity: int) -> None:
        super().__init__(config.n_kv_heads, (config.d_head, config.d_head), capacity)
