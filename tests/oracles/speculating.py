"""What speculation is tested on: targets, drafts and the same models without a cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
import torch

from model.chance import Chance, Seeded
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter, PromptLookup
from model.ngrams import NGramDrafter, NGrams
from model.sampling import Sampling
from model.speculation import (
    Draft,
    Drafter,
    Limits,
    Round,
    Target,
    speculate,
)
from model.toy.cache import Forgetful
from model.toy.masks import causal
from model.toy.translating import DRAFTERS as TOY_DRAFTERS
from model.toy.translating import MakeDrafter, sentence_of

TOLERANCE = 1e-12
VOCAB = 7
CAPACITY = 64
TARGET = Decoder(DecoderConfig(n_layers=3, vocab_size=VOCAB), seed=5)
STRANGER = Decoder(DecoderConfig(n_layers=1, n_heads=2, n_kv_heads=1, vocab_size=VOCAB), seed=9)


def law(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


class Tables:
    """A language model that is a rule: its logits depend on the last `order` tokens."""

    def __init__(self, seed: int, n_words: int, order: int = 2) -> None:
        self.seed, self.n_words, self.order = seed, n_words, order
        self.text: list[int] = []

    @property
    def rows(self) -> int:
        return len(self.text)

    @property
    def length(self) -> int:
        return len(self.text)

    def logits(self, text: Sequence[int]) -> torch.Tensor:
        context = self.seed
        for token in text[-self.order :]:
            context = context * 31 + token + 1
        generator = torch.Generator().manual_seed(context)
        return torch.randn(self.n_words, dtype=torch.float64, generator=generator)

    def run(self, tokens: Sequence[int]) -> torch.Tensor:
        start = len(self.text)
        self.text += tokens
        ends = range(start + 1, len(self.text) + 1)
        return torch.stack([self.logits(self.text[:end]) for end in ends])

    def keep(self, n_tokens: int) -> None:
        del self.text[n_tokens:]


class TableDrafter(Tables):
    """Drafts from such a rule."""

    def __init__(self, seed: int, n_words: int, sampling: Sampling) -> None:
        super().__init__(seed, n_words)
        self.sampling = sampling

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        draft = Draft([], [])
        for _ in range(n):
            q = self.sampling.law(self.logits([*text, *draft.tokens]))
            draft.laws.append(q)
            draft.tokens.append(chance.choose(q))
        return draft


class Contrary:
    """Always drafts a word the target would not choose."""

    rows = 0

    def __init__(self, case: "Case") -> None:
        self.case = case

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:  # noqa: ARG002
        allowed = (self.case.uncached(self.case.prompt)[-1] > -torch.inf).nonzero().flatten()
        best = plain_greedy(self.case, list(text), 1)[0]
        wrong = [next(int(token) for token in allowed if token != best)] * n
        return Draft(wrong, [torch.eye(self.case.vocab, dtype=torch.float64)[t] for t in wrong])

    def keep(self, n_tokens: int) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Case:
    """A target made afresh, what may draft for it, and the same model without any cache."""

    prompt: list[int]
    vocab: int
    target: Callable[[], Target]
    uncached: Callable[[list[int]], torch.Tensor]
    drafters: dict[str, Callable[[Sampling], Drafter]]


def cached(decoder: Decoder) -> CachedModel:
    return CachedModel(decoder, decoder.new_cache(CAPACITY))


def first_layers(decoder: Decoder, n_layers: int) -> Decoder:
    """A smaller model that tends to agree: the first layers of a decoder."""
    smaller = Decoder(replace(decoder.config, n_layers=n_layers), seed=0)
    names = smaller.state_dict().keys()
    smaller.load_state_dict({k: v for k, v in decoder.state_dict().items() if k in names})
    return smaller


def decoder_case() -> Case:
    return Case(
        prompt=[1, 2, 3, 1, 2],
        vocab=VOCAB,
        target=lambda: cached(TARGET),
        uncached=lambda text: TARGET(torch.tensor(text)),
        drafters={
            "itself": lambda sampling: ModelDrafter(cached(TARGET), sampling),
            "two of its layers": lambda sampling: ModelDrafter(cached(SHALLOW), sampling),
            "a stranger": lambda sampling: ModelDrafter(cached(STRANGER), sampling),
            "prompt lookup": lambda _: PromptLookup(VOCAB),
            "n-grams": lambda sampling: NGramDrafter(GRAMS, torch.ones(VOCAB) > 0, sampling),
            "contrary": lambda _: Contrary(CASES["decoder"]),
        },
    )


def toy_case() -> Case:
    sentence = sentence_of("The black cat sees a white bird, and I do not like the old house.")
    limits = Limits(new_tokens=20, draft_tokens=7)
    vocab = len(sentence.source.allowed)

    def uncached(text: list[int]) -> torch.Tensor:
        network, n = sentence.network, len(text)
        cross = network.project_memory(sentence.source.memory)
        nothing = [Forgetful() for _ in cross]
        decoded = network.decode(torch.tensor(text), slice(0, n), nothing, cross, causal(n, n))
        return network.logits(decoded.y).masked_fill(~sentence.source.allowed, -torch.inf)

    def itself(sampling: Sampling) -> ModelDrafter:
        return ModelDrafter(sentence.target(limits), sampling)

    def by(make: MakeDrafter) -> Callable[[Sampling], Drafter]:
        return lambda sampling: make(sentence, sampling, limits)

    return Case(
        prompt=sentence.prompt,
        vocab=vocab,
        target=lambda: sentence.target(limits),
        uncached=uncached,
        drafters={
            "itself": itself,
            **{name: by(make) for name, make in TOY_DRAFTERS.items()},
            "prompt lookup": lambda _: PromptLookup(vocab),
            "contrary": lambda _: Contrary(CASES["toy"]),
        },
    )


def plain_greedy(
    case: Case, prompt: list[int], n: int, stop: frozenset[int] = frozenset()
) -> list[int]:
    """Greedy decoding with no cache and no draft."""
    text = list(prompt)
    while len(text) < len(prompt) + n and not (len(text) > len(prompt) and text[-1] in stop):
        text.append(int(case.uncached(text)[-1].argmax()))
    return text[len(prompt) :]


SHALLOW = first_layers(TARGET, 2)
GRAMS = NGrams([[1, 2, 3, 1, 2, 5, 6, 1, 2, 3, 0, 4]], VOCAB)
with torch.inference_mode():
    CASES: dict[str, Case] = {"decoder": decoder_case(), "toy": toy_case()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_pair = pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in CASES.values() for name in case.drafters],
    ids=[f"{which}-{name}" for which, case in CASES.items() for name in case.drafters],
)
GREEDY = Sampling(temperature=0.0)
DECODER = CASES["decoder"]


def seeded(seed: int = 0) -> Seeded:
    return Seeded(torch.Generator().manual_seed(seed))


@torch.inference_mode()
def rounds(case: Case, name: str, sampling: Sampling, limits: Limits, seed: int = 0) -> list[Round]:
    target, drafter = case.target(), case.drafters[name](sampling)
    made = speculate(
        target, drafter, case.prompt, limits=limits, sampling=sampling, chance=seeded(seed)
    )
    return list(made)


def joined(rounds: list[Round]) -> list[int]:
    return [token for one in rounds for token in one.tokens]
