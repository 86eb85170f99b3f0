"""Pairs to learn from and to be measured on, each in one of three sets for good.

The MD5 of a sentence, its slots renumbered, decides: 5 % are for choosing between trained models
(validation), 5 % are not looked at until the end (test), the rest is for training.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import md5
from typing import Literal, NamedTuple

from model.toy.lexicon import NOUNS, slot
from model.toy.sentences import PLAIN, UNKNOWN, Sampler, Style
from model.toy.teacher import translate

Split = Literal["training", "validation", "test"]
HELD_OUT = 13  # of the 256 values of a hash's first byte, for each of the two held-out sets
LONG = 9  # words
REPEATED = 0.04  # chance that an unknown word is one met before


class Pair(NamedTuple):
    english: tuple[str, ...]
    french: tuple[str, ...]


def canonical(words: tuple[str, ...]) -> tuple[str, ...]:
    """Renumber the slots of a sentence in order of first appearance."""
    slots = [word for word in dict.fromkeys(words) if word.startswith("<")]
    numbers = {word: slot(k) for k, word in enumerate(slots, start=1)}
    return tuple(numbers.get(word, word) for word in words)


def split_of(words: tuple[str, ...]) -> Split:
    """Name the set this sentence belongs to, whoever asks."""
    byte = md5(" ".join(canonical(words)).encode(), usedforsecurity=False).digest()[0]
    return "validation" if byte < HELD_OUT else "test" if byte < 2 * HELD_OUT else "training"


def grammar(sampler: Sampler) -> list[str]:
    """Draw a sentence without unknown words (the everyday patterns may hold one)."""
    return [w if w != UNKNOWN else sampler.any_of(list(NOUNS)) for w in sampler.sentence()]


def long(sampler: Sampler) -> list[str]:
    words = sampler.sentence() if sampler.chance(0.3) else sampler.long_sentence()
    return sampler.with_unknown(words) if sampler.chance(0.25) else words


KINDS: dict[str, Callable[[Sampler], list[str]]] = {
    "grammar": grammar,
    "long": long,
    "unknown": lambda sampler: sampler.with_unknown(sampler.sentence()),
    "damaged": lambda sampler: (
        sampler.with_unknown(sampler.damaged()) if sampler.chance(0.5) else sampler.damaged()
    ),
    "salad": Sampler.salad,
    "all unknown": Sampler.all_unknown,
}
MEASURED = tuple(kind for kind in KINDS if kind != "long")  # the long ones are grammar, too
Mix = tuple[tuple[str, float], ...]
MIX: Mix = (
    ("grammar", 0.36),
    ("long", 0.24),
    ("unknown", 0.18),
    ("damaged", 0.09),
    ("salad", 0.10),
    ("all unknown", 0.03),
)


@dataclass(frozen=True, kw_only=True)
class Course:
    """What is practised: the shares of the kinds of sentence, and what they dwell on."""

    mix: Mix = MIX
    style: Style = PLAIN


EVERYDAY = Course()


def draw(sampler: Sampler, kind: str) -> tuple[str, ...]:
    """Draw an English sentence of a kind, with random slots."""
    words: list[str] = []
    while not fits(kind, words, sampler.max_words):
        words = KINDS[kind](sampler)
    return slotted(words, sampler)


def with_french(english: tuple[str, ...]) -> Pair:
    return Pair(english, tuple(translate(english)))


def fits(kind: str, words: list[str], max_words: int) -> bool:
    if not 1 <= len(words) <= max_words:
        return False
    if kind == "long":
        return len(words) >= LONG
    return (UNKNOWN in words) if kind == "unknown" else True


def slotted(words: list[str], sampler: Sampler) -> tuple[str, ...]:
    """Give unknown words slots at random: the network must not count on their order."""
    free = [slot(k) for k in range(1, sampler.max_words + 1)]
    sampler.random.shuffle(free)
    used: list[str] = []
    numbered: list[str] = []
    for word in words:
        if word == UNKNOWN and used and sampler.chance(REPEATED):
            numbered.append(sampler.random.choice(used))
        elif word == UNKNOWN:
            used.append(free.pop())
            numbered.append(used[-1])
        else:
            numbered.append(word)
    return tuple(numbered)


def draw_training(
    n_pairs: int, *, seed: int, max_words: int, course: Course = EVERYDAY
) -> Iterator[Pair]:
    """Draw pairs of a course; none whose English is in the validation or test set."""
    sampler = Sampler(seed, max_words, course.style)
    kinds, weights = zip(*course.mix, strict=True)
    drawn = 0
    while drawn < n_pairs:
        english = draw(sampler, sampler.random.choices(kinds, weights)[0])
        if split_of(english) == "training":
            drawn += 1
            yield with_french(english)


def draw_held_out(
    kind: str, n_pairs: int, *, split: Split, seed: int, max_words: int
) -> list[Pair]:
    """Draw distinct pairs of one kind from a held-out set, slots in reading order as at run time.

    Sentences of unknown words alone differ in their slots only, so they cannot be held out: they
    are drawn with random slots, from every set.
    """
    sampler = Sampler(seed, max_words)
    found: dict[tuple[str, ...], None] = {}
    while len(found) < n_pairs:
        english = draw(sampler, kind)
        if kind != "all unknown":
            english = canonical(english)
            if split_of(english) != split:
                continue
        found.setdefault(english)
    return [with_french(english) for english in found]
