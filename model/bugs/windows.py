"""Rings that are read from the wrong slot, rewound past their end, or not there at all."""

from collections.abc import Callable
from functools import partial

import torch

from model.bugs.bench_decoder import (
    CAPACITY,
    N_PROMPT,
    ONE_BY_ONE,
    SEED,
    TOKENS,
    WINDOWED,
    observed,
    random_tokens,
    recompute,
    with_store,
)
from model.bugs.bug import Bug, Gauge, Observed
from model.cache import KVCache
from model.decoder import Decoder
from model.storage.base import (
    KeyRows,
    MakeStorage,
    NewKeys,
    NewValues,
    Room,
    Storage,
    ValueRows,
)
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring

WINDOW = 4
LAWS = "tests/test_cache_laws.py::"


class ReadFromTheOldest(Ring):
    """Reads the W - 1 past rows from slot `past % W` on: one too old, and the newest missing."""

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        past, n_past = self.length, min(self.length, self.window - 1)
        slots = torch.arange(past, past + n_past) % self.n_rows
        if past < self.n_rows or k.shape[-2] > 1:  # not wrapped yet, or a prompt: all is well
            return super().append(k, v)
        old_k, old_v = self.k[..., slots, :].clone(), self.v[..., slots, :].clone()
        super().append(k, v)
        self._handed_out = torch.arange(past - n_past, past + 1)  # what it takes them for
        return torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2)


class RewoundAnyway(Ring):
    """Moves the length back without asking whether the rows it uncovers are still there."""

    def __init__(self, room: Room, *, window: int, spare: int = 0) -> None:
        super().__init__(room, window=window)
        self.promised = spare

    def check_crop(self, n_tokens: int) -> None:
        """See no reason why not."""


class NeverForgets(Contiguous):
    """Keeps every row of a windowed layer and leaves it to the mask to hide the old ones."""

    def __init__(self, room: Room, *, window: int) -> None:
        super().__init__(room)
        self.window = window


def in_a_window(ring: Callable[..., Storage]) -> MakeStorage:
    """Make the ring as wide as the decoder's window."""
    return partial(ring, window=WINDOW)


def rejected_drafts(ring: type[Ring]) -> Observed:
    """Two drafts behind the prompt, both refused: the ring has to give back what they overwrote."""
    decoder = Decoder(WINDOWED, SEED)
    cache = decoder.new_cache(CAPACITY, store=partial(ring, window=WINDOW, spare=1))
    logits = [decoder(token, cache)[-1] for token in TOKENS[:N_PROMPT].split(1)][-1:]
    decoder(random_tokens(2, seed=7), cache)
    cache.crop(N_PROMPT)
    visible = int((cache[0].positions > N_PROMPT - WINDOW).sum())
    logits += [decoder(token, cache)[-1] for token in TOKENS[N_PROMPT:].split(1)]
    gauge = Gauge("rows the next token can read, of the 3 in its window", visible)
    return observed(recompute(decoder, TOKENS), torch.stack(logits), gauges=[gauge])


def held(cache: KVCache) -> list[Gauge]:
    """Bytes of the rows kept, measured on the tensors."""
    return [Gauge(f"bytes held after {cache.length} tokens", cache.nbytes_held)]


BUGS = {
    "ring-read-start": Bug(
        id="ring-read-start",
        title="The ring is read from the wrong slot",
        story=(
            "A ring of W slots holds W past tokens, but with a window of W the next token reads "
            "only W - 1 of them, plus itself. Reading those from slot past % W starts at the "
            "oldest: one row too old comes along and the newest is left out. Until the ring has "
            "wrapped once, both readings agree."
        ),
        source="huggingface/transformers#47708",
        step="which-keys-a-query-may-read#ring-buffer",
        fix="Start at (past - (W - 1)) % W, or let every row carry its position.",
        right="model.storage.ring:Ring",
        twin="model.bugs.windows:ReadFromTheOldest",
        method="append",
        seam="ring",
        bench=with_store(in_a_window, WINDOWED, ONE_BY_ONE),
        caught_by=f"{LAWS}test_a_ring_gives_the_logits_of_the_window_mask",
    ),
    "ring-rewind": Bug(
        id="ring-rewind",
        title="Rolling back a ring that has wrapped",
        story=(
            "Refused drafts are forgotten by moving the length back. In a ring they have "
            "overwritten older rows that come back into the window with that move, and no "
            "counter brings those back. The store says it was rolled back, and reads what is left."
        ),
        source="ml-explore/mlx-lm#1427",
        step="going-deeper#speculative-decoding",
        fix="Keep as many spare slots as there may be drafts, or refuse.",
        right="model.storage.ring:Ring",
        twin="model.bugs.windows:RewoundAnyway",
        method="check_crop",
        seam="ring",
        bench=rejected_drafts,
        caught_by=f"{LAWS}test_a_ring_rolls_back_or_refuses",
    ),
    "window-kept-whole": Bug(
        id="window-kept-whole",
        title="A window that saves nothing",
        story=(
            "The mask hides all but the last W keys, so the text is right. The store behind it "
            "keeps every row all the same, and the memory that the window was meant to save is "
            "still taken. No comparison of words or logits can notice."
        ),
        source="huggingface/transformers#29777",
        step="which-keys-a-query-may-read#ring-buffer",
        fix="Drop what the mask can never show again, and test the bytes at ten windows.",
        right="model.storage.ring:Ring",
        twin="model.bugs.windows:NeverForgets",
        method="_write",
        seam="ring",
        bench=with_store(in_a_window, WINDOWED, gauges=held),
        caught_by=f"{LAWS}test_a_cache_holds_the_bytes_the_formula_says",
    ),
}
