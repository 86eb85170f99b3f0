"""What a layer asks of whatever keeps its keys and values: `k, v = store.append(k, v)`."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int, Num
from torch import Tensor

from model.errors import BadInput

NewKeys = Num[Tensor, "*batch kv_heads new d_key"]
NewValues = Num[Tensor, "*batch kv_heads new d_value"]
KeyRows = Num[Tensor, "*batch kv_heads seen d_key"]
ValueRows = Num[Tensor, "*batch kv_heads seen d_value"]


@dataclass(frozen=True, kw_only=True)
class Room:
    """How much one layer has to keep: for `capacity` tokens, two rows per key/value head.

    Keys and values may differ in width (MLA keeps a latent and a rotary key). `batch` is
    () for one sequence or (n_sequences,).
    """

    kv_heads: int
    d_key: int
    d_value: int
    capacity: int
    batch: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"

    def __post_init__(self) -> None:
        sizes = (self.kv_heads, self.d_key, self.d_value, self.capacity, *self.batch)
        if min(sizes) < 1:
            message = f"a store needs at least 1 of everything, got sizes {sizes}"
            raise BadInput(message)

    @property
    def numbers_per_token(self) -> int:
        """Numbers one token adds to one layer of one sequence."""
        return self.kv_heads * (self.d_key + self.d_value)

    def empty(self, n_rows: int) -> tuple[Tensor, Tensor]:
        """Space for `n_rows` key rows and value rows, not cleared."""
        shape = (*self.batch, self.kv_heads, n_rows)
        k = torch.empty((*shape, self.d_key), dtype=self.dtype, device=self.device)
        return k, k.new_empty((*shape, self.d_value))


class Storage(ABC):
    """One layer's keys and values, oldest token first unless `positions` says otherwise.

    `length` counts the tokens ever appended and not cropped: it is the position of the next
    token, also when older rows have been dropped.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.length = 0

    @abstractmethod
    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        """Keep the rows of the new tokens; hand out every row they may read, themselves too."""

    @abstractmethod
    def read(self) -> tuple[KeyRows, ValueRows]:
        """Hand out the rows that are kept, without adding any."""

    @property
    @abstractmethod
    def positions(self) -> Int[Tensor, " seen"]:
        """The position of each row that `append` or `read` last handed out, in that order."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes reserved by the tensors of this store, whether filled or not."""

    @property
    @abstractmethod
    def nbytes_held(self) -> int:
        """Bytes of those that hold tokens now."""

    def check_crop(self, n_tokens: int) -> None:
        """Raise BadInput if this store cannot go back to its first `n_tokens` tokens."""
        if not 0 <= n_tokens <= self.length:
            message = (
                f"cannot crop to {n_tokens} tokens: the store has seen {self.length}, "
                f"keep 0 to {self.length}"
            )
            raise BadInput(message)

    @abstractmethod
    def crop(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` tokens, as if the others had never come.

        A store that cannot restore that state raises BadInput and stays as it was.
        """

    def skip(self, n_tokens: int) -> None:
        """Count tokens whose rows nobody will ask for (a prompt of which only the end is run)."""
        message = f"{type(self).__name__} needs the rows of all tokens, not {n_tokens} fewer"
        raise BadInput(message)

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Make sequence i of the batch continue sequence rows[i] (beam search, leavers)."""

    def fork(self) -> "Storage":
        """Return a store that continues on its own; neither sees the other's new rows."""
        return copy.deepcopy(self)


MakeStorage = Callable[[Room], Storage]


def check_room(new: int, length: int, capacity: int) -> None:
    """Refuse more tokens than were provided for."""
    if length + new > capacity:
        message = (
            f"the cache is full: {new} new after {length} tokens do not fit in {capacity}, "
            f"reserve {length + new}"
        )
        raise BadInput(message)


def pick_sequences(x: Num[Tensor, "*shape"], rows: Int[Tensor, " kept"], room: Room) -> Tensor:
    """Rows of the batch axis; refused where there is none."""
    if not room.batch:
        message = f"cannot reorder to {rows.tolist()}: this store has no batch axis, give it one"
        raise BadInput(message)
    return x.index_select(0, rows.to(x.device))
