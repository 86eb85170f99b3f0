"""English sentences by the thousand: a small grammar, sampled; whole, damaged or scrambled."""

# ruff: noqa: PLR2004 - the shares of a mix are data, read best where they are used

import random
from collections.abc import Callable
from dataclasses import dataclass

from model.toy.lexicon import (
    ADJECTIVES,
    ASKING,
    BASE_OF,
    CONJUNCTIONS,
    NOUNS,
    OBJECTS,
    PREPOSITIONS,
    PUNCTUATION,
    SUBJECTS,
    VERBS,
    english_words,
)

UNKNOWN = "<?>"  # an unknown word before it is given its slot

WORDS = english_words()
BEFORE = [word for word, adjective in ADJECTIVES.items() if adjective.before_noun]
AFTER = [word for word, adjective in ADJECTIVES.items() if not adjective.before_noun]
FEMININE = {word for word, noun in NOUNS.items() if noun.gender == "f"}
TRANSITIVE = [base for base, verb in VERBS.items() if verb.takes_object]
INTRANSITIVE = [base for base, verb in VERBS.items() if not verb.takes_object]
OPENERS = ["hello", "yes", "no", "thanks"]
CLOSERS = ["here", "today", "now", "too"]
Pattern = Callable[[], list[str]]
CONTENT = {*NOUNS, *ADJECTIVES, *VERBS, *BASE_OF}  # what an unknown word may stand for


@dataclass(frozen=True, kw_only=True)
class Style:
    """What the sentences dwell on."""

    very: float = 0.0  # share of noun phrases with adjectives that start with "very"
    negated: float = 0.25  # share of predicates
    favourites: tuple[str, ...] = ("have", "like", "love")  # drawn twice as often: they elide


PLAIN = Style()


class Sampler:
    """Draws English sentences; the same seed draws the same sentences."""

    def __init__(self, seed: int, max_words: int, style: Style = PLAIN) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.max_words = max_words
        self.style = style
        self.verbs = [*TRANSITIVE, *style.favourites]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def any_of(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    # Phrases

    def noun_phrase(self) -> list[str]:
        shape = self.random.random()
        if shape < 0.50:
            adjectives = []
        elif shape < 0.70:
            adjectives = [self.any_of(BEFORE)]
        elif shape < 0.88:
            adjectives = [self.any_of(AFTER)]
        else:
            adjectives = [self.any_of(BEFORE), self.any_of(AFTER)]
        if self.style.very and adjectives and self.chance(self.style.very):
            adjectives = ["very", *adjectives]
        phrase = [*adjectives, self.any_of(list(NOUNS))]
        if self.chance(0.04):
            return phrase
        determiner = self.any_of(["the", "the", "the", "the", "a", "a", "my", "your", "this"])
        if self.chance(0.08):
            determiner = self.any_of(["his", "her"])
        if determiner == "a" and phrase[0][0] in "aeiou":
            determiner = "an"
        return [determiner, *phrase]

    def subject(self) -> tuple[list[str], str]:
        """Words, and the form of *be* they ask for: am, is or are."""
        shape = self.random.random()
        if shape < 0.47:
            pronoun = self.any_of(list(SUBJECTS))
            return [pronoun], be_form(pronoun)
        if shape < 0.94:
            return self.noun_phrase(), "is"
        first, second = self.noun_phrase(), self.noun_phrase()
        if first[-1] in FEMININE and second[-1] in FEMININE:  # there is no feminine plural
            second[-1] = "horse"
        return [*first, "and", *second], "are"

    def place(self) -> list[str]:
        return [self.any_of(list(PREPOSITIONS)), *self.noun_phrase()]

    def object(self) -> list[str]:
        return [self.any_of(list(OBJECTS))] if self.chance(0.25) else self.noun_phrase()

    def predicate(self, be: str) -> list[str]:
        shape = self.random.random()
        if shape < 0.25:
            return self.being(be)
        if shape < 0.31:
            return ["sat", *(["here"] if self.chance(0.15) else self.place())]
        base = self.any_of(self.verbs if shape < 0.80 else INTRANSITIVE)
        words = self.negated(base, be) if self.chance(self.style.negated) else [form_of(base, be)]
        if base in TRANSITIVE:
            words += self.object()
        end = self.random.random()
        place_chance = 0.15 if base in TRANSITIVE else 0.5
        if end < place_chance:
            words += self.place()
        elif end < place_chance + 0.08:
            words.append(self.any_of(CLOSERS))
        return words

    def negated(self, base: str, be: str) -> list[str]:
        return ["does" if be == "is" else "do", "not", base]

    def being(self, be: str) -> list[str]:
        words = [be, *(["not"] if self.chance(0.2) else [])]
        shape = self.random.random()
        if shape < 0.6:
            words += [*(["very"] if self.chance(0.25) else []), self.any_of(list(ADJECTIVES))]
            if self.chance(0.12):
                words += ["and", self.any_of(list(ADJECTIVES))]
        elif shape < 0.80:
            words += self.place()
        else:
            words += self.noun_phrase() if shape < 0.93 and be != "are" else ["here"]
        return words

    def clause(self) -> list[str]:
        words, be = self.subject()
        return words + self.predicate(be)

    # Sentences

    def sentence(self) -> list[str]:
        shapes = [self.clause, self.two_clauses, self.question, self.greeting, self.order]
        shapes += [self.are_you, self.noun_phrase, self.everyday]
        weights = [0.58, 0.12, 0.07, 0.04, 0.02, 0.02, 0.02, 0.13]
        words = self.random.choices(shapes, weights)[0]()
        if words[-1] not in PUNCTUATION and self.chance(0.5):
            words = [*words, self.any_of([".", ".", "!", "?"])]
        return words

    def two_clauses(self) -> list[str]:
        return [*self.clause(), self.any_of(list(CONJUNCTIONS)), *self.clause()]

    def question(self) -> list[str]:
        words, be = self.subject()
        base = self.any_of(self.verbs)
        asking = ["where"] if self.chance(0.1) else []
        do = "does" if be == "is" else "do"
        return [*asking, do, *words, base, *self.object(), "?"]

    def greeting(self) -> list[str]:
        comma = [","] if self.chance(0.5) else []
        rest = self.noun_phrase() if self.chance(0.2) else self.clause()
        return [self.any_of(OPENERS), *comma, *rest]

    def order(self) -> list[str]:
        no = ["do", "not"] if self.chance(0.3) else []
        return [*no, self.any_of(TRANSITIVE), *self.noun_phrase()]

    def are_you(self) -> list[str]:
        pronoun = self.any_of(list(SUBJECTS))
        no = ["not"] if self.chance(0.1) else []
        return [be_form(pronoun), pronoun, *no, self.any_of(list(ADJECTIVES)), "?"]

    def everyday(self) -> list[str]:
        """Imitate what people type first: the patterns of the page's own examples."""
        pronoun = self.any_of(list(SUBJECTS))
        be, verb = be_form(pronoun), self.any_of(self.verbs)
        patterns: list[Pattern] = [
            lambda: [pronoun, form_of(verb, be), self.any_of(list(OBJECTS))],
            lambda: [pronoun, *self.negated(verb, be), self.any_of(list(OBJECTS))],
            lambda: [*self.noun_phrase(), "sat", *self.place()],
            lambda: [*self.noun_phrase(), VERBS[self.any_of(INTRANSITIVE)].third, *self.place()],
            lambda: [*self.noun_phrase(), "is", "very", self.any_of(list(ADJECTIVES))],
            lambda: [pronoun, *self.negated(verb, be), *[UNKNOWN] * self.random.randint(1, 3)],
            lambda: ["my", self.any_of(list(NOUNS)), "is", UNKNOWN],
            lambda: ["hello", self.any_of([*NOUNS, UNKNOWN])],
            lambda: [self.any_of(list(ASKING)), "is", *self.noun_phrase(), "?"],
            lambda: [self.any_of(list(ASKING)), be, pronoun, "?"],
            lambda: ["who", VERBS[verb].third, *self.object(), "?"],
            lambda: ["where", "do", self.any_of(["you", "i", "we", "they"]), verb, "?"],
            lambda: [self.any_of(["this", "it"]), "is", *self.noun_phrase()],
        ]
        return self.random.choice(patterns)()

    def long_sentence(self) -> list[str]:
        words = self.two_clauses()
        while self.chance(0.4):
            words = [*words, self.any_of(list(CONJUNCTIONS)), *self.clause()]
        return words + [self.any_of([".", "!", "?"])] * self.chance(0.5)

    def salad(self) -> list[str]:
        share = self.random.random()
        length = self.random.randint(1, self.max_words)
        return [UNKNOWN if self.chance(share) else self.any_of(list(WORDS)) for _ in range(length)]

    def damaged(self) -> list[str]:
        words = self.sentence()
        for _ in range(self.random.randint(1, 3)):
            k, harm = self.random.randrange(len(words)), self.random.random()
            if harm < 0.4 and len(words) > 1:
                del words[k]
            elif harm < 0.7:
                words.insert(k, self.any_of(list(WORDS)))
            else:
                m = self.random.randrange(len(words))
                words[k], words[m] = words[m], words[k]
        return words

    def with_unknown(self, words: list[str]) -> list[str]:
        share = self.random.choice([0.15, 0.3, 0.5, 1.0])
        return [UNKNOWN if w in CONTENT and self.chance(share) else w for w in words]

    def all_unknown(self) -> list[str]:
        return [UNKNOWN] * self.random.randint(1, self.max_words)


def be_form(pronoun: str) -> str:
    return {"i": "am", "he": "is", "she": "is", "it": "is"}.get(pronoun, "are")


def form_of(base: str, be: str) -> str:
    return VERBS[base].third if be == "is" else base
