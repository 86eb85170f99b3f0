"""Where cheap guesses come from: the text itself, or a smaller model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from model.cache import KVCache
from model.chance import Chance
from model.decoder import Decoder
from model.sampling import Sampling
from model.speculation import Draft, Target


@dataclass(eq=False)
class CachedModel:
    """A decoder and its cache: the target of a speculation, or the heart of a drafter."""

    decoder: Decoder
    cache: KVCache

    @property
    def length(self) -> int:
        return self.cache.length

    def run(self, tokens: Sequence[int]) -> Float[Tensor, "new vocab"]:
        return self.decoder(torch.tensor(tokens, dtype=torch.long), self.cache)

    def keep(self, n_tokens: int) -> None:
        self.cache.crop(min(n_tokens, self.length))


@dataclass(eq=False)
class ModelDrafter:
    """Drafts from a smaller model, one cached step at a time.

    `sampling` must be what the draft is really drawn from: its laws go into the ratio p / q.
    After full acceptance the row of the last draft is missing here (it was written but never
    fed); the next round feeds every token of the text that has no row yet. Nothing is drafted
    after a stop token.
    """

    model: Target
    sampling: Sampling = field(default_factory=Sampling)
    stop: frozenset[int] = field(default_factory=frozenset)

    @property
    def rows(self) -> int:
        return self.model.length

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        draft = Draft([], [])
        feed = list(text[self.model.length :])
        for _ in range(n):
            law = self.sampling.law(self.model.run(feed))[-1]
            token = chance.choose(law)
            draft.tokens.append(token)
            draft.laws.append(law)
            if token in self.stop:
                break
            feed = [token]
        return draft

    def keep(self, n_tokens: int) -> None:
        self.model.keep(n_tokens)


@dataclass(frozen=True)
class PromptLookup:
    """Drafts what followed the last words the last time they stood in the text.

    Tries the longest ending first (`longest` tokens down to 1). Each guess is certain of
    itself: its law is a point mass. Source: apoorvumang/prompt-lookup-decoding.
    """

    vocab_size: int
    longest: int = 3
    rows: int = field(default=0, init=False)

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:  # noqa: ARG002 - certain
        tokens = self._continuation(text)[:n]
        return Draft(tokens, [self._point_mass(token) for token in tokens])

    def keep(self, n_tokens: int) -> None:
        """Keep nothing: the text is all there is to remember."""

    def _continuation(self, text: Sequence[int]) -> list[int]:
        for size in range(min(self.longest, len(text) - 1), 0, -1):
            ending = list(text[-size:])
            for start in range(len(text) - size - 1, -1, -1):
                if list(text[start : start + size]) == ending:
                    return list(text[start + size :])
        return []

    def _point_mass(self, token: int) -> Float[Tensor, " vocab"]:
        law = torch.zeros(self.vocab_size, dtype=torch.float64)
        law[token] = 1.0
        return law
