"""One text (or a batch of them) under way: what was fed so far, and what is kept of it.

Two kinds with the same face: `Remembering` feeds only new tokens, `Forgetful` everything anew.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from model.cache import KVCache
from model.engine.devices import out_of_memory_as_bad_input
from model.engine.keeping import Keeping
from model.engine.model import LanguageModel
from model.engine.reading import Reading, TurnedOnRead, TurnedOnWrite
from model.errors import BadInput
from model.masks import causal
from model.storage.base import Room

Tokens = Int[Tensor, "batch new"]
Hidden = Float[Tensor, "batch new d_model"]


class Session(ABC):
    """What `generate` asks of whoever runs the model."""

    model: LanguageModel

    @abstractmethod
    def feed(self, tokens: Tokens) -> Hidden:
        """Run the new tokens and return their hidden rows (`model.logits` scores them)."""

    @abstractmethod
    def crop(self, n_tokens: int) -> None:
        """Go back to the first `n_tokens` tokens."""

    @abstractmethod
    def chunk(self, wanted: int) -> int:
        """Return how many tokens the next pass may take, at most `wanted`."""

    @property
    def bounded(self) -> bool:
        """Say whether the model's trained context limits the text."""
        return True

    @property
    @abstractmethod
    def length(self) -> int:
        """Tokens fed so far."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes reserved to remember them."""

    @property
    @abstractmethod
    def nbytes_held(self) -> int:
        """Bytes of those that hold tokens now."""


class Remembering(Session):
    """Keeps keys and values in one store per layer.

    valid: for batches of unequal length, which fed tokens are text and which are padding.
    """

    def __init__(
        self,
        model: LanguageModel,
        capacity: int,
        *,
        keeping: Keeping | None = None,
        valid: Bool[Tensor, "batch fed"] | None = None,
        batch: int = 1,
    ) -> None:
        self.model = model
        self.keeping = keeping or Keeping()
        if valid is not None and self.keeping.window is not None:
            message = "rows of unequal length and a window do not go together yet: send one row"
            raise BadInput(message)
        room = room_of(model, capacity, batch if valid is None else valid.shape[0])
        with out_of_memory_as_bad_input():
            self.cache = KVCache(self.keeping.store(room) for _ in model.layers)
        self.valid = None if valid is None else fill_up(valid.to(model.device), capacity)

    @torch.inference_mode()
    def feed(self, tokens: Tokens) -> Hidden:
        return self.model.hidden(tokens, self.cache.stores, self.reading(tokens.shape[1]))

    def reading(self, new: int) -> Reading:
        """Say where the next tokens stand."""
        if self.keeping.rows_move:
            return TurnedOnRead(table=self.model.rotary)
        start = self.cache[0].length
        return TurnedOnWrite(
            angles=self.model.rotary.span(start, new)
            if self.valid is None
            else self.model.rotary.at(places(self.valid)[:, start : start + new]),
            may_read=self.keeping.may_read,
            query_positions=torch.arange(start, start + new, device=self.model.device),
            valid=self.valid,
            exact=self.keeping.spare == 0,
        )

    def crop(self, n_tokens: int) -> None:
        self.cache.crop(n_tokens)

    def chunk(self, wanted: int) -> int:
        return self.keeping.chunk(wanted, self.length)

    @property
    def bounded(self) -> bool:
        return not self.keeping.rows_move

    @property
    def length(self) -> int:
        return self.cache.length

    @property
    def nbytes(self) -> int:
        return self.cache.nbytes

    @property
    def nbytes_held(self) -> int:
        return self.cache.nbytes_held


class Forgetful(Session):
    """Keeps the tokens and nothing else: every pass computes all of them again."""

    def __init__(self, model: LanguageModel, batch: int = 1) -> None:
        self.model = model
        self.tokens = torch.empty((batch, 0), dtype=torch.long, device=model.device)

    @torch.inference_mode()
    def feed(self, tokens: Tokens) -> Hidden:
        self.tokens = torch.cat([self.tokens, tokens], dim=1)
        seen = self.tokens.shape[1]
        reading = TurnedOnWrite(
            angles=self.model.rotary.span(0, seen),
            may_read=causal,
            query_positions=torch.arange(seen, device=self.model.device),
        )
        nothing = [None] * len(self.model.layers)
        return self.model.hidden(self.tokens, nothing, reading)[:, -tokens.shape[1] :]

    def crop(self, n_tokens: int) -> None:
        self.tokens = self.tokens[:, :n_tokens]

    def chunk(self, wanted: int) -> int:
        """Take all there is: a chunk would only be computed again by the next one."""
        del wanted
        return self.model.config.context

    @property
    def length(self) -> int:
        return self.tokens.shape[1]

    @property
    def nbytes(self) -> int:
        return 0

    @property
    def nbytes_held(self) -> int:
        return 0


def room_of(model: LanguageModel, capacity: int, batch: int = 1) -> Room:
    """State what one layer of this model asks of its store."""
    c = model.config
    return Room(
        kv_heads=c.n_kv_heads,
        d_key=c.d_head,
        d_value=c.d_head,
        capacity=capacity,
        batch=(batch,),
        dtype=model.dtype,
        device=model.device,
    )


def fill_up(valid: Bool[Tensor, "batch fed"], capacity: int) -> Bool[Tensor, "batch capacity"]:
    """Count everything that will be fed after the prompts as text."""
    batch, fed = valid.shape
    rest = valid.new_ones((batch, max(capacity - fed, 0)))
    return torch.cat([valid, rest], dim=1)


def places(valid: Bool[Tensor, "batch fed"]) -> Int[Tensor, "batch fed"]:
    """Number the text tokens of each row from 0; padding counts for nothing."""
    return (valid.cumsum(dim=1) - 1).clamp(min=0)
