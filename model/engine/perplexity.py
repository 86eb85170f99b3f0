"""What a smaller cache costs in quality: perplexity of a text, read as decoding would read it.

Every case is one pass over the whole text (a parallel form that tests hold equal to feeding it
token by token); only formats that code blocks of tokens are fed in parts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from model.engine.keeping import AS_COMPUTED, WHOLE, Keeping
from model.engine.model import LanguageModel
from model.engine.reading import NewRows, QueriesKeys, Reading, TurnedOnWrite
from model.engine.rotary import RotaryTable
from model.engine.session import Forgetful, Remembering, room_of
from model.errors import BadInput
from model.masks import Predicate, mask, window, window_with_sinks
from model.storage.base import Storage

SLOTS = (64, 128, 256, 512)
SINKS = (0, 1, 4)
PART = 16
"""Tokens a pass for formats that code many tokens at once; a multiple of it fills their blocks."""
ROWS = 64
"""Rows scored at once, so that copies of the whole vocabulary stay small."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to keep the past. `slots` counts sinks and window together; None keeps all."""

    slots: int | None = None
    sinks: int = 0
    k_format: str = AS_COMPUTED
    v_format: str = AS_COMPUTED

    @property
    def keeping(self) -> Keeping:
        window = None if self.slots is None else self.slots - self.sinks
        return Keeping(
            window=window, sinks=self.sinks, k_format=self.k_format, v_format=self.v_format
        )


class Quality(NamedTuple):
    """A case against keeping everything as computed, on the same tokens.

    n_scored: tokens after the first eviction (all but the first token if nothing is evicted);
    kl: mean of KL(full, case) in nats; same_top: share of tokens with the same likeliest word.
    """

    case: Case
    n_scored: int
    perplexity: float
    full_perplexity: float
    kl: float
    same_top: float
    bits_per_value: float


WINDOWS = tuple(Case(slots=slots, sinks=sinks) for slots in SLOTS for sinks in SINKS)
TWO_SIDED = ("int8", "fp8-e4m3", "fp8-e5m2", "fp8-e4m3-scaled", "fp4", "mxfp8", "mxfp4", *WHOLE)
FORMATS = (
    *(Case(k_format=name, v_format=name) for name in TWO_SIDED),
    Case(k_format="fp4"),
    Case(v_format="fp4"),
)


def measure(
    model: LanguageModel, tokens: Sequence[int], cases: Sequence[Case] = (*WINDOWS, *FORMATS)
) -> Iterator[Quality]:
    """Yield one result per case, as it is ready. Raises BadInput if the text is too short."""
    longest = max((case.slots or 0 for case in cases), default=0)
    if len(tokens) < longest + 2:
        message = f"a text of {len(tokens)} tokens never leaves a cache of {longest}: give more"
        raise BadInput(message)
    text = torch.tensor([list(tokens)], device=model.device)
    full = log_law(model, Forgetful(model).feed(text)[0])
    for case in cases:
        yield compare(model, text[0], full, log_law(model, hidden_rows(model, text, case)), case)


@torch.inference_mode()
def hidden_rows(
    model: LanguageModel, text: Int[Tensor, "1 tokens"], case: Case
) -> Float[Tensor, "tokens d_model"]:
    """Return what each token of the text has become, having read only what the case kept."""
    if case.slots is not None:
        nothing = [None] * len(model.layers)
        return model.hidden(text, nothing, at_once(model, case, text.shape[1]))[0]
    session = Remembering(model, text.shape[1], keeping=case.keeping)
    part = PART if case.k_format in WHOLE else text.shape[1]
    return torch.cat([session.feed(tokens)[0] for tokens in text.split(part, dim=1)])


def at_once(model: LanguageModel, case: Case, n_tokens: int) -> Reading:
    """Read a whole text in one pass as a window with or without sinks would have."""
    width = (case.slots or n_tokens) - case.sinks
    positions = torch.arange(n_tokens, device=model.device)
    angles = model.rotary.span(0, n_tokens)
    if not case.sinks:
        return TurnedOnWrite(angles=angles, may_read=window(width), query_positions=positions)
    return SinksAtOnce(
        table=model.rotary,
        positions=positions,
        sinks=case.sinks,
        width=width,
        may_read=window_with_sinks(width, case.sinks),
    )


@dataclass(kw_only=True)
class SinksAtOnce(Reading):
    """StreamingLLM over a whole text: distances within the window stay, those to sinks close.

    A row's place is its rank in the cache, so a query stands at most at slot sinks + width - 1
    when it meets the sinks, and at its usual distance when it meets the window.
    """

    table: RotaryTable
    positions: Int[Tensor, " tokens"]
    sinks: int
    width: int
    may_read: Predicate

    def attend(
        self, qk: QueriesKeys, v: NewRows, store: Storage | None
    ) -> Float[Tensor, "batch heads new d_head"]:
        del store
        q, k = qk.tensor_split([-v.shape[1]], dim=1)
        turned = self.table.at(self.positions[None])
        places = self.positions.clamp(max=self.sinks + self.width - 1)
        share = q.shape[1] // k.shape[1]
        k, v = turned.turn(k).repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        scores = turned.turn(q) @ k.mT
        near = self.table.at(places[None]).turn(q)
        scores[..., : self.sinks] = near @ k[:, :, : self.sinks].mT
        allowed: Bool[Tensor, "new seen"] = mask(self.may_read, self.positions, self.positions)
        scores = scores.div_(math.sqrt(q.shape[-1])).masked_fill_(~allowed, -math.inf)
        return scores.softmax(dim=-1) @ v


@torch.inference_mode()
def log_law(
    model: LanguageModel, rows: Float[Tensor, "tokens d_model"]
) -> Float[Tensor, "tokens vocab"]:
    """Return the log-probability of every word after every token."""
    return torch.cat([model.logits(part).log_softmax(dim=-1) for part in rows.split(ROWS)])


@torch.inference_mode()
def compare(
    model: LanguageModel,
    text: Int[Tensor, " tokens"],
    full: Float[Tensor, "tokens vocab"],
    laws: Float[Tensor, "tokens vocab"],
    case: Case,
) -> Quality:
    """Score both against the words that really follow."""
    first = case.slots or 0  # row i predicts token i + 1; row `slots` is the first to miss one
    sums = torch.zeros(4, dtype=torch.float64)
    for part in torch.arange(first, len(text) - 1, device=text.device).split(ROWS):
        follows = text[part + 1][:, None]
        p, q = full[part], laws[part]
        kl = (p.exp() * (p - q)).sum(dim=-1)
        same = p.argmax(dim=-1) == q.argmax(dim=-1)
        terms = (-p.gather(1, follows), -q.gather(1, follows), kl, same)
        sums += torch.stack([term.double().sum() for term in terms]).cpu()
    n_scored = len(text) - 1 - first
    mean = (sums / n_scored).tolist()
    return Quality(
        case=case,
        n_scored=n_scored,
        perplexity=math.exp(mean[1]),
        full_perplexity=math.exp(mean[0]),
        kl=mean[2],
        same_top=mean[3],
        bits_per_value=bits_per_value(model, case, len(text)),
    )


def bits_per_value(model: LanguageModel, case: Case, n_tokens: int) -> float:
    """Count the bits a cached number takes, scales included, from a store of this text's size."""
    if case.k_format == case.v_format == AS_COMPUTED:
        return 8.0 * model.dtype.itemsize
    room = room_of(model, n_tokens)
    store = case.keeping.store(room)
    blank = torch.zeros((1, room.kv_heads, n_tokens, room.d_key), dtype=room.dtype)
    store.append(blank.to(room.device), blank.to(room.device))
    return 8 * store.nbytes_held / (room.numbers_per_token * n_tokens)
