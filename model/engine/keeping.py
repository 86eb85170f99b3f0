"""What a session keeps of the past, in which format: one store per layer follows from it."""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from model import masks
from model.errors import BadInput
from model.storage import STORAGE
from model.storage.base import MakeStorage, Room, Storage
from model.storage.codecs import CODECS
from model.storage.codecs.base import Codec, as_bytes, from_bytes
from model.storage.contiguous import Contiguous
from model.storage.quantised import Quantised
from model.storage.ring import Ring
from model.storage.sinks import Streaming

AS_COMPUTED = "as-computed"
WHOLE = tuple(name for name in STORAGE if name.startswith("kivi"))
FORMATS = (AS_COMPUTED, *CODECS, *WHOLE)
"""How keys or values can be written; the `WHOLE` ones code both sides at once."""


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Everything by default; `window` newest tokens, and `sinks` first ones, if asked.

    spare: rows beyond the window that a rollback may need (speculation).
    """

    window: int | None = None
    sinks: int = 0
    k_format: str = AS_COMPUTED
    v_format: str = AS_COMPUTED
    spare: int = 0

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            message = f"a window of {self.window} hides a token from itself: use at least 1"
            raise BadInput(message)
        if self.sinks < 0 or (self.sinks and self.window is None):
            message = f"{self.sinks} sinks stand beside a window: give a window of at least 1 too"
            raise BadInput(message)
        if self.sinks and self.spare:
            message = "a window with sinks moves its rows, so it cannot roll drafts back: drop one"
            raise BadInput(message)
        for name in (self.k_format, self.v_format):
            if name not in FORMATS:
                message = f"{name!r} is no cache format: choose from {', '.join(FORMATS)}"
                raise BadInput(message)
        whole = {self.k_format, self.v_format} & {*WHOLE}
        if whole and (self.k_format != self.v_format or self.window is not None):
            message = f"{whole.pop()} codes keys and values together and keeps every token"
            raise BadInput(message)

    @property
    def rows_move(self) -> bool:
        """Say whether a kept row changes its position, so that keys must be turned when read."""
        return self.sinks > 0

    @property
    def may_read(self) -> masks.Predicate:
        """Return the pattern as a predicate of positions (rows that move need none)."""
        return masks.causal if self.window is None else masks.window(self.window)

    def store(self, room: Room) -> Storage:
        """Make one layer's store."""
        if self.k_format in WHOLE:
            return STORAGE[self.k_format](room)
        if self.k_format == self.v_format == AS_COMPUTED:
            return self._rows(room)
        return Quantised(
            room,
            key=codec(self.k_format, room.dtype),
            value=codec(self.v_format, room.dtype),
            rows=self._rows,
        )

    @property
    def _rows(self) -> MakeStorage:
        if self.window is None:
            return Contiguous
        if self.sinks:
            return partial(Streaming, window=self.window, sinks=self.sinks)
        return partial(Ring, window=self.window, spare=self.spare)

    def chunk(self, wanted: int, length: int) -> int:
        """Return how many tokens fit in one pass after `length`: rows that move take one at a time.

        They do once the cache is full, since the sinks stand elsewhere for each new token.
        """
        if not self.rows_move:
            return wanted
        return min(wanted, max((self.window or 0) + self.sinks - length, 1))


class Raw(Codec):
    """The numbers' own bytes: for the side that is not quantised."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def row_bytes(self, width: int) -> int:
        return width * self.dtype.itemsize

    def encode(self, x: Float[Tensor, "*rows width"]) -> UInt8[Tensor, "*rows n_bytes"]:
        return as_bytes(x.to(self.dtype))

    def decode(
        self, rows: UInt8[Tensor, "*rows n_bytes"], width: int, dtype: torch.dtype
    ) -> Float[Tensor, "*rows width"]:
        return from_bytes(rows, self.dtype)[..., :width].to(dtype)


def codec(name: str, dtype: torch.dtype) -> Codec:
    """Return a codec by name."""
    return Raw(dtype) if name == AS_COMPUTED else CODECS[name]
