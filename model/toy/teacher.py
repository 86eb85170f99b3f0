"""The teacher: English to French by rule, for any list of words at all.

It defines what "right" means for the toy. On sentences of the grammar it writes correct French;
on word salad it writes something, always the same something, so right and wrong stay defined.
"""

from collections.abc import Sequence
from typing import NamedTuple

from model.toy.lexicon import (
    ADJECTIVES,
    ASKING,
    BASE_OF,
    BE,
    BE_FORMS,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    NOT,
    NOUNS,
    OBJECTS,
    PLAIN,
    PREPOSITIONS,
    PUNCTUATION,
    SAT,
    SAT_FORMS,
    SAT_PRONOUNS,
    SUBJECTS,
    VERBS,
    Gender,
    is_slot,
)
from model.toy.noun_phrase import (
    agreeing,
    begins_with_vowel,
    parse_noun_phrase,
    past_adjectives,
    with_follower,
    word_at,
)

STOPS = frozenset(PUNCTUATION) - {","}
ELIDED = {"je": "j'", "ne": "n'", "me": "m'", "te": "t'", "le": "l'", "la": "l'"}
ELIDED |= {"est-ce que": "est-ce qu'", "ce": "c'"}
PLURAL = 4
HE = 2


def translate(words: Sequence[str]) -> list[str]:
    """French for a list of words and slots; total on every list over the vocabulary.

    >>> " ".join(translate("the black cat sees a white bird .".split()))
    'le chat noir voit un oiseau blanc .'
    >>> " ".join(translate("she does not see him".split()))
    'elle ne le voit pas'
    """
    return _Reading(tuple(words)).translated()


class Subject(NamedTuple):
    person: int
    gender: Gender
    is_noun: bool


class _Reading:
    """One pass over the words, left to right, remembering who the subject is."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.at = 0
        self.french: list[str] = []
        self.subject: Subject | None = None
        self.verb_seen = False
        self.joining = False  # "the cat and ...": the next noun makes the subject plural
        self.asked = ""  # the do or does that opened a question and awaits its verb

    def translated(self) -> list[str]:
        rules = (self._this_is, self._noun_phrase, self._do, self._verb, self._pronoun, self._plain)
        while self.at < len(self.words):
            any(rule() for rule in rules)  # the first rule that applies, consumes
        return elided(self.french)

    # What the words are

    def word(self, ahead: int = 0) -> str:
        return word_at(self.words, self.at + ahead)

    def is_verb(self, ahead: int = 0) -> bool:
        return self.word(ahead) in VERBS or self.word(ahead) in BASE_OF or self.word(ahead) == SAT

    def opens_clause(self) -> bool:
        before = self.word(-1)
        return not before or before in PUNCTUATION or before in CONJUNCTIONS or before in ASKING

    def starts_noun_phrase(self, ahead: int = 0) -> bool:
        word, follower = self.word(ahead), self.word(ahead + 1)
        if word == "her":
            return follower in NOUNS or follower in ADJECTIVES or is_slot(follower)
        if word == "very":
            return follower in ADJECTIVES
        return word in DETERMINERS or word in NOUNS or word in ADJECTIVES or is_slot(word)

    # Rules: each returns whether it applied

    def _this_is(self) -> bool:
        follower = self.word(3) if self.word(2) == NOT else self.word(2)
        presents = self.word() == "this" or (self.word() == "it" and follower in DETERMINERS)
        if not (presents and self.word(1) == "is"):
            return False
        self.subject = Subject(HE, "m", is_noun=False)
        self.french.append("ce")
        self.at += 1
        return True

    def _noun_phrase(self) -> bool:
        if not self.starts_noun_phrase():
            return False
        phrase = parse_noun_phrase(self.words, self.at)
        if phrase.head or phrase.determiner:
            self.french += phrase.french()
        else:
            self.french += agreeing(phrase.modifiers, self._agreement())
        if phrase.head and not self.verb_seen and self.word(-1) not in PREPOSITIONS:
            person, gender = (PLURAL, "p") if self.joining else (HE, phrase.gender)
            self.subject = Subject(person, gender, is_noun=True)
            self.joining = False
        self.at = phrase.end
        return True

    def _agreement(self) -> Gender:
        return self.subject.gender if self.subject and self.verb_seen else "m"

    def _do(self) -> bool:
        if self.word() not in DO:
            return False
        if self.word(1) == NOT and (self.is_verb(2) or is_slot(self.word(2))):
            self._do_not()
        elif self.opens_clause() and (self.word(1) in SUBJECTS or self.starts_noun_phrase(1)):
            self.asked = self.word()
            self.french.append("est-ce que")
            self.at += 1
        else:
            self.french.append("fait")
            self.at += 1
        return True

    def _do_not(self) -> None:
        self.asked = self.word()
        self.at += 2
        if is_slot(self.word()):
            self.french += ["ne", self.word(), "pas"]
            self.verb_seen, self.asked = True, ""
            self.at += 1
        else:
            self._conjugate(negated=True)

    def _verb(self) -> bool:
        if self.word() in BE:
            self._be()
        elif self.is_verb():
            self._conjugate(negated=False)
        else:
            return False
        return True

    def _be(self) -> None:
        inverted = self.opens_clause() and self.word(1) in SUBJECTS
        if inverted:
            pronoun = SUBJECTS[self.word(1)]
            self.subject = Subject(pronoun.person, pronoun.gender, is_noun=False)
        elif self.word() == "are" and self.subject and self.subject.is_noun:
            self.subject = Subject(PLURAL, "p", is_noun=True)
        person = BE[self.word()]
        if self.word() == "are" and self.subject:
            person = self.subject.person
        phrase = [BE_FORMS[person], *([SUBJECTS[self.word(1)].french] if inverted else [])]
        self.at += len(phrase)
        negated = self.word() == NOT
        self.at += negated
        self.french += negation(phrase) if negated else phrase
        self.verb_seen = True

    def _conjugate(self, *, negated: bool) -> None:
        person, word = self._person(), self.word()
        self.at += 1
        if word == SAT:
            phrase = [SAT_PRONOUNS[person], SAT_FORMS[person]]
        else:
            verb = VERBS[BASE_OF.get(word, word)]
            phrase = [*self._object(takes_object=verb.takes_object), verb.forms[person]]
        self.french += negation(phrase) if negated else phrase
        self.verb_seen = True

    def _person(self) -> int:
        word, asked, self.asked = self.word(), self.asked, ""
        if word in BASE_OF or asked == "does":
            return HE
        if self.subject is None:
            return HE if word == SAT else 0  # "watch!" has the form of je, near enough of tu
        if self.subject.is_noun and word != SAT:
            return PLURAL  # a bare verb after a noun: "the cat and the dog see"
        return self.subject.person

    def _object(self, *, takes_object: bool) -> list[str]:
        if not (takes_object and self.word() in OBJECTS) or self.starts_noun_phrase():
            return []
        if self.word() in SUBJECTS and (self.is_verb(1) or self.word(1) in (*BE, *DO)):
            return []  # "I see you run": a new subject
        self.at += 1
        return [OBJECTS[self.word(-1)]]

    def _pronoun(self) -> bool:
        word = self.word()
        if word in SUBJECTS:
            pronoun = SUBJECTS[word]
            self.subject = Subject(pronoun.person, pronoun.gender, is_noun=False)
            self.verb_seen = False
            self.french.append(pronoun.french)
        elif word in OBJECTS:
            self.french.append(OBJECTS[word])
        else:
            return False
        self.at += 1
        return True

    def _plain(self) -> bool:
        word = self.word()
        self.french.append("pas" if word == NOT else PLAIN[word])
        if word in CONJUNCTIONS or word == ",":
            noun = self.subject is not None and self.subject.is_noun
            self.joining = word == "and" and noun and not self.verb_seen
            self.verb_seen = self.verb_seen and self.starts_predicate(1)
        if word in STOPS:
            self.subject, self.verb_seen, self.joining = None, False, False
        self.at += 1
        return True

    def starts_predicate(self, ahead: int) -> bool:
        """Whether adjectives without a noun come next: "is black and white"."""
        word = self.word(ahead)
        if word not in ADJECTIVES and word != "very":
            return False
        end = word_at(self.words, past_adjectives(self.words, self.at + ahead))
        return end not in NOUNS and not is_slot(end)


def negation(phrase: list[str]) -> list[str]:
    return ["ne", *phrase, "pas"]


def elided(words: list[str]) -> list[str]:
    """je, ne, le ... before a vowel. Articles were decided by their noun phrase already."""
    return [
        ELIDED.get(word, word) if elides(word, follower) else word
        for word, follower in with_follower(words)
    ]


def elides(word: str, follower: str) -> bool:
    """Say whether a word loses its vowel: an object pronoun does so before a verb only."""
    return begins_with_vowel(follower) and (word not in OBJECTS.values() or follower in VERB_FORMS)


VERB_FORMS = frozenset(form for verb in VERBS.values() for form in verb.forms) | {*BE_FORMS}
