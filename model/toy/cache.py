"""Two keepers of keys and values: one forgets, one does not. That is all the difference."""

import torch
from jaxtyping import Float
from torch import Tensor

from model.toy.config import ToyConfig

New = Float[Tensor, "*batch kv_heads new d_head"]
Seen = Float[Tensor, "*batch kv_heads seen d_head"]


class Forgetful:
    """Keeps nothing: the keys and values just computed are all there are."""

    def append(self, k: New, v: New) -> tuple[Seen, Seen]:
        return k, v


class Cache:
    """One layer's keys and values, a row for every word fed so far."""

    def __init__(self, config: ToyConfig, capacity: int) -> None:
        shape = (config.n_kv_heads, capacity, config.d_head)
        self._k = torch.empty(shape, dtype=torch.float64)
        self._v = torch.empty(shape, dtype=torch.float64)
        self.length = 0

    def append(self, k: New, v: New) -> tuple[Seen, Seen]:
        """Keep the new rows; return every row kept so far, oldest first."""
        start, self.length = self.length, self.length + k.shape[-2]
        self._k[:, start : self.length] = k
        self._v[:, start : self.length] = v
        return self.kept

    @property
    def kept(self) -> tuple[Seen, Seen]:
        return self._k[:, : self.length], self._v[:, : self.length]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows kept, measured on the tensors."""
        return sum(rows.nbytes for rows in self.kept)
