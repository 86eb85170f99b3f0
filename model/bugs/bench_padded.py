"""One row of a left-padded batch: the same tokens as alone, behind three that are nothing."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model.attention.heads import Parts
from model.bugs.bench_decoder import (
    CAPACITY,
    CONFIG,
    N_PROMPT,
    SEED,
    TOKENS,
    observed,
    recompute,
    right_decoder,
)
from model.bugs.bug import Gauge, Observed
from model.decoder import Decoder
from model.padding import places
from model.storage.base import Room, Storage
from model.storage.contiguous import Contiguous

NextPlace = Callable[[Bool[Tensor, " tokens"]], int]
N_PADS = 3


class PaddedRow(Contiguous):
    """Slots of a padded row. A position is counted once, when its token comes, and kept."""

    def __init__(self, room: Room, real: Bool[Tensor, " tokens"]) -> None:
        super().__init__(room)
        self.real = real
        self.places = places(real)

    @property
    def positions(self) -> Int[Tensor, " seen"]:
        return self.places[: self.length]


def positions_of(next_place: NextPlace, store: Storage | None, new: int) -> Int[Tensor, " new"]:
    """Hand out the prompt's positions as counted, then one new position at a time."""
    assert isinstance(store, PaddedRow)  # noqa: S101 - the bench makes no other
    if store.length:
        at = next_place(store.real[: store.length])
        store.places[store.length] = at
    return store.places[store.length : store.length + new]


def padded_row(next_place: NextPlace) -> Observed:
    """Run the padded row with this rule for the next position; the oracle is the row alone."""
    real = torch.arange(N_PADS + len(TOKENS)) >= N_PADS
    parts = replace(Parts(), positions=lambda store, new: positions_of(next_place, store, new))
    decoder = Decoder(CONFIG, SEED, parts=parts)
    cache = decoder.new_cache(CAPACITY, store=lambda room: PaddedRow(room, real))
    prompt = torch.cat([torch.zeros(N_PADS, dtype=torch.long), TOKENS[:N_PROMPT]])
    logits = [decoder(prompt, cache)[-1]]
    logits += [decoder(token, cache)[-1] for token in TOKENS[N_PROMPT:].split(1)]
    first = next_place(real[: len(prompt)])
    return observed(
        recompute(right_decoder(), TOKENS),
        torch.stack(logits),
        gauges=[Gauge("position of the first decoded token", first)],
    )
