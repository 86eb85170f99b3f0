"""Which word tends to follow the words before it: counted, and made into a draft.

Leviathan et al. (arXiv 2211.17192) try bigrams as the cheapest draft there is.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from model.chance import Chance
from model.sampling import Sampling
from model.speculation import Draft

Context = tuple[int, ...]


class NGrams:
    """How often each token followed each context of up to `longest` - 1 tokens."""

    def __init__(self, texts: Iterable[Sequence[int]], vocab_size: int, longest: int = 3) -> None:
        self.vocab_size = vocab_size
        self.longest = longest
        self.counts: dict[Context, Counter[int]] = {}
        for text in texts:
            self._count(text)

    def _count(self, text: Sequence[int]) -> None:
        for end in range(1, len(text)):
            for size in range(min(self.longest - 1, end) + 1):
                context = tuple(text[end - size : end])
                self.counts.setdefault(context, Counter())[text[end]] += 1

    def seen(self, text: Sequence[int]) -> Float[Tensor, " vocab"]:
        """Counts after the longest ending of the text that was ever met; none at all if none."""
        counts = torch.zeros(self.vocab_size, dtype=torch.float64)
        for size in range(min(self.longest - 1, len(text)), -1, -1):
            if found := self.counts.get(tuple(text[len(text) - size :])):
                counts[list(found)] = torch.tensor(list(found.values()), dtype=torch.float64)
                return counts
        return counts


@dataclass(frozen=True)
class NGramDrafter:
    """Drafts by those counts. Where no allowed token was met, every allowed one is as likely."""

    ngrams: NGrams
    allowed: Bool[Tensor, " vocab"]
    sampling: Sampling
    stop: frozenset[int] = field(default_factory=frozenset)
    rows: int = field(default=0, init=False)

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        draft = Draft([], [])
        for _ in range(n):
            law = self.law([*text, *draft.tokens])
            draft.tokens.append(chance.choose(law))
            draft.laws.append(law)
            if draft.tokens[-1] in self.stop:
                break
        return draft

    def law(self, text: Sequence[int]) -> Float[Tensor, " vocab"]:
        counts = self.ngrams.seen(text) * self.allowed
        counts = counts if counts.any() else self.allowed.double()
        return self.sampling.law(counts.log())

    def keep(self, n_tokens: int) -> None:
        """Keep nothing: the counts depend on the text alone."""
