"""Words to ids and back, for both languages."""

from functools import cache
from typing import NamedTuple

from model.toy.config import ToyConfig
from model.toy.lexicon import english_words, french_words, slot

END = "</s>"
START = "<s>"


class Vocabulary(NamedTuple):
    words: tuple[str, ...]
    ids: dict[str, int]


def vocabulary(*words: str) -> Vocabulary:
    return Vocabulary(words, {word: k for k, word in enumerate(words)})


class Vocabularies(NamedTuple):
    english: Vocabulary
    french: Vocabulary


@cache
def vocabularies(config: ToyConfig) -> Vocabularies:
    """List the words: first the end mark, the known words, a slot for each that may be unknown."""
    slots = [slot(k) for k in range(1, config.max_words + 1)]
    english = vocabulary(END, *english_words(), *slots)
    return Vocabularies(english, vocabulary(END, START, *french_words(), *slots))
