"""The noun phrase, where English and French differ most: gender, order and elision."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from model.toy.lexicon import (
    ADJECTIVES,
    BEFORE_VOWEL,
    DETERMINERS,
    NOUNS,
    PLAIN,
    Gender,
    is_slot,
)

VOWELS = frozenset("aeiouhâàéèêœ")


@dataclass(frozen=True)
class NounPhrase:
    """A determiner, adjectives (with *very*, or one unknown word) and a head; any may be absent."""

    determiner: str
    modifiers: tuple[str, ...]
    head: str
    end: int  # the first word after it

    @property
    def gender(self) -> Gender:
        return NOUNS[self.head].gender if self.head in NOUNS else "m"

    def french(self) -> list[str]:
        body = self._body()
        if not self.determiner:
            return body
        forms = DETERMINERS[self.determiner]
        vowel = bool(body) and begins_with_vowel(body[0])
        return [forms[(self.gender == "f") + 2 * vowel], *body]

    def _body(self) -> list[str]:
        before, after = [], []
        for words in grouped(self.modifiers):
            stays = is_slot(words[-1]) or ADJECTIVES[words[-1]].before_noun or not self.head
            (before if stays else after).extend(agreeing(words, self.gender))
        head = [NOUNS[self.head].french if self.head in NOUNS else self.head] if self.head else []
        body = before + head + after
        return [
            BEFORE_VOWEL.get(word, word) if begins_with_vowel(follower) else word
            for word, follower in with_follower(body)
        ]


def with_follower(words: Sequence[str]) -> list[tuple[str, str]]:
    """Each word beside the next one; the last stands beside the empty word."""
    return [(word, follower) for word, follower in zip_longest(words, words[1:], fillvalue="")]


def begins_with_vowel(word: str) -> bool:
    return word[:1] in VOWELS


def grouped(modifiers: Sequence[str]) -> list[tuple[str, ...]]:
    """Each adjective with the *very* before it, if any."""
    groups: list[tuple[str, ...]] = []
    for word in modifiers:
        if groups and groups[-1] == ("very",):
            groups[-1] = ("very", word)
        else:
            groups.append((word,))
    return groups


def agreeing(words: Sequence[str], gender: Gender) -> list[str]:
    return [
        getattr(ADJECTIVES[word], gender) if word in ADJECTIVES else PLAIN.get(word, word)
        for word in words
    ]


def word_at(words: Sequence[str], k: int) -> str:
    """Give the word at a place, or the empty word where there is none."""
    return words[k] if 0 <= k < len(words) else ""


def parse_noun_phrase(words: Sequence[str], start: int) -> NounPhrase:
    """Take the longest noun phrase that starts here."""
    determiner = words[start] if words[start] in DETERMINERS else ""
    first = start + bool(determiner)
    k = past_adjectives(words, first)
    if determiner and is_slot(word_at(words, k)):  # "the fluffy cat": one unknown may modify
        noun = past_adjectives(words, k + 1)
        k = noun if word_at(words, noun) in NOUNS else k
    head = word_at(words, k) if word_at(words, k) in NOUNS or is_slot(word_at(words, k)) else ""
    return NounPhrase(determiner, tuple(words[first:k]), head, k + bool(head))


def past_adjectives(words: Sequence[str], k: int) -> int:
    """Skip adjectives, each with *very* before it or not."""
    while word_at(words, k) in ADJECTIVES or (
        word_at(words, k) == "very" and word_at(words, k + 1) in ADJECTIVES
    ):
        k += 1
    return k
