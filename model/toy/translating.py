"""The toy as the target of a speculation, and what may draft for it, for one sentence.

The text begins with the start mark and ends at the end mark; a draft may only be a word that
the sentence can have, as for the toy itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.drafters import ModelDrafter
from model.ngrams import NGramDrafter, NGrams
from model.sampling import Sampling
from model.speculation import Drafter, Limits
from model.speculation_record import law_gap, record_speculation
from model.toy.arithmetic import FixedOrder, tensor_of
from model.toy.cache import Cache
from model.toy.config import ToyConfig
from model.toy.datasets import draw_training
from model.toy.decode import Source, following
from model.toy.drafts_measured import COUNTED, SMALLER
from model.toy.masks import causal
from model.toy.network import Keeper, Network
from model.toy.record import shipped, source_of, understand
from model.toy.variants.run import network_of
from model.toy.vocabulary import END, START, vocabularies

N_COUNTED, COUNTED_SEED = 2_000, 3


class Reader:
    """A network that reads on in the translation of one source, into the keepers it is handed.

    Keys and values of the source are projected once, and whoever reads on shares them.
    """

    def __init__(self, network: Network, source: Source) -> None:
        self.network = network
        self.source = source
        self.cross = network.project_memory(source.memory)

    def read(
        self, words: Int[Tensor, "*texts new"], before: int, keepers: Sequence[Keeper]
    ) -> Float[Tensor, "*texts new vocab"]:
        """Logits after each word, `before` of which were read; -inf for words ruled out."""
        new = words.shape[-1]
        places = following(before, new)
        mask = causal(new, before + new) if new > 1 else None  # one word may read all before it
        decoded = self.network.decode(words, places, keepers, self.cross, mask)
        return self.network.logits(decoded.y).masked_fill(~self.source.allowed, -torch.inf)


class Translating(Reader):
    """A reader with a self-attention cache that can be rolled back."""

    def __init__(self, network: Network, source: Source, capacity: int) -> None:
        super().__init__(network, source)
        self.caches = [Cache(network.config, capacity) for _ in self.cross]

    @property
    def length(self) -> int:
        return self.caches[0].length

    def run(self, tokens: Sequence[int]) -> Float[Tensor, "new vocab"]:
        return self.read(tensor_of(list(tokens)), self.length, self.caches)

    def keep(self, n_tokens: int) -> None:
        for store in self.caches:
            store.crop(min(n_tokens, store.length))


@dataclass(frozen=True)
class Sentence:
    """A sentence as the toy and the smaller toy have encoded it."""

    network: Network
    source: Source
    smaller: Network
    smaller_source: Source

    @property
    def prompt(self) -> list[int]:
        return [self.source.start]

    @property
    def stop(self) -> frozenset[int]:
        return frozenset({self.source.end})

    def limits(self, draft_tokens: int) -> Limits:
        most = self.source.max_written
        return Limits(new_tokens=most, draft_tokens=draft_tokens, stop=self.stop)

    def capacity(self, limits: Limits) -> int:
        return len(self.prompt) + limits.new_tokens + limits.draft_tokens

    def target(self, limits: Limits) -> Translating:
        return Translating(self.network, self.source, self.capacity(limits))


def sentence_of(text: str) -> Sentence:
    """Read a text with both toys.

    Raises
    ------
    BadInput
        There is nothing to read in the text.
    """
    config, parameters = shipped()
    network, smaller = Network(config, parameters, FixedOrder()), network_of(SMALLER)
    reading = understand(text, config)
    with torch.inference_mode():
        sources = [source_of(one, reading)[1] for one in (network, smaller)]
    return Sentence(network, sources[0], smaller, sources[1])


def by_smaller(sentence: Sentence, sampling: Sampling, limits: Limits) -> ModelDrafter:
    """Draft with the smaller toy, which reads the same sentence with a cache of its own."""
    room = sentence.capacity(limits)
    model = Translating(sentence.smaller, sentence.smaller_source, room)
    return ModelDrafter(model, sampling, limits.stop)


def by_counts(sentence: Sentence, sampling: Sampling, limits: Limits) -> NGramDrafter:
    """Draft what followed the last two words most often in training sentences."""
    ngrams = counted(sentence.network.config)
    return NGramDrafter(ngrams, sentence.source.allowed, sampling, limits.stop)


MakeDrafter = Callable[[Sentence, Sampling, Limits], Drafter]
DRAFTERS: dict[str, MakeDrafter] = {
    SMALLER: by_smaller,
    COUNTED: by_counts,
}


@cache
def counted(config: ToyConfig) -> NGrams:
    """Count trigrams in the French of training pairs, in the order a seed draws them."""
    ids = vocabularies(config).french.ids
    pairs = draw_training(N_COUNTED, seed=COUNTED_SEED, max_words=config.max_words)
    texts = ([ids[word] for word in (START, *pair.french, END)] for pair in pairs)
    return NGrams(texts, len(ids))


def speculated(
    sentence: Sentence, name: str, draft_tokens: int, sampling: Sampling, seed: int
) -> dict[str, Any]:
    """Translate with one drafter, told round by round in ids; see `record_speculation`."""
    limits = sentence.limits(draft_tokens)
    return record_speculation(
        sentence.target(limits),
        DRAFTERS[name](sentence, sampling, limits),
        sentence.prompt,
        limits=limits,
        sampling=sampling,
        seed=seed,
    )


def exactness(
    sentence: Sentence, name: str, sampling: Sampling, *, n_words: int, draft_tokens: int
) -> dict[str, Any]:
    """Enumerate every way a drafted beginning can go, and compare with plain decoding."""
    limits = Limits(new_tokens=n_words, draft_tokens=draft_tokens, stop=sentence.stop)
    return law_gap(
        lambda: sentence.target(limits),
        lambda: DRAFTERS[name](sentence, sampling, limits),
        sentence.prompt,
        limits=limits,
        sampling=sampling,
    )
