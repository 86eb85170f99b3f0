"""Speculative decoding: a cheap draft, checked in one pass, that leaves the output law alone.

Sources: Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318 (who swap the
letters). Here p is the target's distribution and q the draft's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from model.chance import Chance
from model.errors import BadInput
from model.sampling import Sampling

Law = Float[Tensor, " vocab"]


class Draft(NamedTuple):
    """Guessed tokens and, for each, the distribution it was really drawn from."""

    tokens: list[int]
    laws: list[Law]


@runtime_checkable
class Drafter(Protocol):
    """Guesses what comes next, and forgets the guesses that were refused."""

    @property
    def rows(self) -> int:
        """Rows in a cache of its own; 0 without one."""
        ...

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        """Guess up to `n` tokens after `text`; none is an answer too."""
        ...

    def keep(self, n_tokens: int) -> None:
        """Roll back to the first `n_tokens` tokens of the text, if it had got further."""
        ...


@runtime_checkable
class Target(Protocol):
    """The model whose text is wanted, with a cache that can be rolled back."""

    @property
    def length(self) -> int:
        """Rows in the cache."""
        ...

    def run(self, tokens: Sequence[int]) -> Float[Tensor, "new vocab"]:
        """Logits after each of these tokens, which come right after the cached ones."""
        ...

    def keep(self, n_tokens: int) -> None:
        """Roll the cache back to its first `n_tokens` rows."""
        ...


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far to write, how far ahead to guess, and which tokens end the text."""

    new_tokens: int
    draft_tokens: int
    stop: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.new_tokens < 1 or self.draft_tokens < 0:
            message = (
                f"{self.new_tokens} new tokens and {self.draft_tokens} drafts a round: "
                f"use at least 1 and 0"
            )
            raise BadInput(message)

    def cut(self, tokens: list[int]) -> list[int]:
        """Tokens up to the first stop token, that one included."""
        ends = (i + 1 for i, token in enumerate(tokens) if token in self.stop)
        return tokens[: next(ends, len(tokens))]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One pass of the target. `accepted` of the drafted tokens stand; one more is its own.

    tokens: what the round added to the text, cut at a stop token or the length limit.
    """

    drafted: tuple[int, ...]
    accepted: int
    tokens: tuple[int, ...]
    target_rows: int  # in the target's cache when the round is over
    draft_rows: int  # in the drafter's


def residual(p: Law, q: Law) -> Law:
    """Return max(0, p - q), normalised: what p still lacks after the accepted drafts.

    >>> half = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    >>> residual(half, torch.tensor([0.2, 0.6, 0.2], dtype=torch.float64)).tolist()
    [1.0, 0.0, 0.0]
    """
    left = (p - q).clamp(min=0.0)
    return left / left.sum() if left.any() else p  # p = q up to rounding: nothing is refused


def judge(draft: Draft, laws: Sequence[Law], chance: Chance) -> tuple[int, int]:
    """Accept drafts from the left, each with probability min(1, p/q); return (how many, next).

    laws: the target's, one after each draft and one before the first. A refused draft is
    replaced from the residual; when all stand, the last law gives a token for free. If q is
    where the drafts were drawn from, the emitted tokens follow p exactly.
    """
    for i, (token, q) in enumerate(zip(draft.tokens, draft.laws, strict=True)):
        p = laws[i]
        if not chance.happens(min(1.0, float(p[token] / q[token]))):
            return i, chance.choose(residual(p, q))
    return len(draft.tokens), chance.choose(laws[len(draft.tokens)])


def speculate(  # noqa: PLR0913 - the six things a speculative decoder is a function of
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    *,
    limits: Limits,
    sampling: Sampling,
    chance: Chance,
) -> Iterator[Round]:
    """Write after the prompt, round by round, until a stop token or the length limit.

    Before a round the target's cache lacks exactly the last token of the text. The round
    feeds it together with the drafts, so that the pass writes drafts + 1 rows, and then drops
    the rows of refused drafts: nothing is computed twice. With temperature 0 the rule becomes
    the greedy one: accept while the draft is the target's own choice.
    """
    if not prompt:
        message = "the prompt has 0 tokens: give at least 1"
        raise BadInput(message)
    text, end = list(prompt), len(prompt) + limits.new_tokens
    if len(text) > 1:
        target.run(text[:-1])
    while len(text) < end:
        n = min(limits.draft_tokens, end - len(text) - 1)  # the pass itself writes one more
        draft = drafter.propose(text, n, chance)
        logits = target.run([text[-1], *draft.tokens])
        accepted, following = judge(draft, list(sampling.law(logits)), chance)
        new = limits.cut([*draft.tokens[:accepted], following])
        text += new
        target.keep(len(text) - 1)
        drafter.keep(len(text) - 1)
        yield Round(
            drafted=tuple(draft.tokens),
            accepted=accepted,
            tokens=tuple(new),
            target_rows=target.length,
            draft_rows=drafter.rows,
        )
        if new[-1] in limits.stop:
            return


def expected_tokens(acceptance: float, draft_tokens: int) -> float:
    """Mean tokens a round when each draft stands with the same chance: (1-a^(g+1))/(1-a).

    >>> round(expected_tokens(0.8, 4), 4)
    3.3616
    """
    return sum(acceptance**i for i in range(draft_tokens + 1))


def expected_speedup(acceptance: float, draft_tokens: int, draft_cost: float) -> float:
    """Time gained if a pass costs 1 however many tokens it checks, and a draft step draft_cost."""
    return expected_tokens(acceptance, draft_tokens) / (draft_tokens * draft_cost + 1)


def acceptance_rate(p: Law, q: Law) -> float:
    """Chance that a draft from q stands: the mass p and q share, 1 - their total variation."""
    return float(torch.minimum(p, q).sum())
