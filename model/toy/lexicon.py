"""The words of the toy language: about 125 in English, under 190 in French.

Small on purpose: what a model of width 8 can hold is the size of the language it writes into.
There is no plural noun, no polite *vous* and no feminine plural adjective.
"""

from typing import Literal, NamedTuple

Gender = Literal["m", "f", "p"]  # p: masculine plural, the only plural an adjective has here


class Noun(NamedTuple):
    french: str
    gender: Gender


class Adjective(NamedTuple):
    m: str
    f: str
    p: str
    before_noun: bool = False


class Verb(NamedTuple):
    """`forms` are those of je, tu, il, nous, ils."""

    third: str
    forms: tuple[str, str, str, str, str]
    takes_object: bool = True


class Pronoun(NamedTuple):
    french: str
    person: int  # 0 je, 1 tu, 2 il, 3 nous, 4 ils
    gender: Gender


class Determiner(NamedTuple):
    m: str
    f: str
    m_vowel: str
    f_vowel: str


NOUNS = {
    "apple": Noun("pomme", "f"),
    "bird": Noun("oiseau", "m"),
    "book": Noun("livre", "m"),
    "boy": Noun("garçon", "m"),
    "bread": Noun("pain", "m"),
    "car": Noun("voiture", "f"),
    "cat": Noun("chat", "m"),
    "child": Noun("enfant", "m"),
    "cow": Noun("vache", "f"),
    "dog": Noun("chien", "m"),
    "fish": Noun("poisson", "m"),
    "flower": Noun("fleur", "f"),
    "fox": Noun("renard", "m"),
    "friend": Noun("ami", "m"),
    "garden": Noun("jardin", "m"),
    "girl": Noun("fille", "f"),
    "horse": Noun("cheval", "m"),
    "house": Noun("maison", "f"),
    "king": Noun("roi", "m"),
    "man": Noun("homme", "m"),
    "mat": Noun("tapis", "m"),
    "mouse": Noun("souris", "f"),
    "name": Noun("nom", "m"),
    "queen": Noun("reine", "f"),
    "table": Noun("table", "f"),
    "tree": Noun("arbre", "m"),
    "water": Noun("eau", "f"),
    "woman": Noun("femme", "f"),
    "world": Noun("monde", "m"),
}

ADJECTIVES = {
    "big": Adjective("grand", "grande", "grands", before_noun=True),
    "black": Adjective("noir", "noire", "noirs"),
    "blue": Adjective("bleu", "bleue", "bleus"),
    "brown": Adjective("brun", "brune", "bruns"),
    "good": Adjective("bon", "bonne", "bons", before_noun=True),
    "green": Adjective("vert", "verte", "verts"),
    "happy": Adjective("content", "contente", "contents"),
    "lazy": Adjective("paresseux", "paresseuse", "paresseux"),
    "little": Adjective("petit", "petite", "petits", before_noun=True),
    "old": Adjective("vieux", "vieille", "vieux", before_noun=True),
    "quick": Adjective("rapide", "rapide", "rapides", before_noun=True),
    "red": Adjective("rouge", "rouge", "rouges"),
    "sad": Adjective("triste", "triste", "tristes"),
    "small": Adjective("petit", "petite", "petits", before_noun=True),
    "tired": Adjective("fatigué", "fatiguée", "fatigués"),
    "white": Adjective("blanc", "blanche", "blancs"),
}
BEFORE_VOWEL = {"vieux": "vieil"}  # le vieil homme

_AIMER = ("aime", "aimes", "aime", "aimons", "aiment")
VERBS = {
    "drink": Verb("drinks", ("bois", "bois", "boit", "buvons", "boivent")),
    "eat": Verb("eats", ("mange", "manges", "mange", "mangeons", "mangent")),
    "have": Verb("has", ("ai", "as", "a", "avons", "ont")),
    "jump": Verb("jumps", ("saute", "sautes", "saute", "sautons", "sautent"), takes_object=False),
    "know": Verb("knows", ("connais", "connais", "connaît", "connaissons", "connaissent")),
    "like": Verb("likes", _AIMER),
    "love": Verb("loves", _AIMER),
    "read": Verb("reads", ("lis", "lis", "lit", "lisons", "lisent")),
    "run": Verb("runs", ("cours", "cours", "court", "courons", "courent"), takes_object=False),
    "see": Verb("sees", ("vois", "vois", "voit", "voyons", "voient")),
    "sing": Verb(
        "sings", ("chante", "chantes", "chante", "chantons", "chantent"), takes_object=False
    ),
    "sleep": Verb("sleeps", ("dors", "dors", "dort", "dormons", "dorment"), takes_object=False),
    "want": Verb("wants", ("veux", "veux", "veut", "voulons", "veulent")),
}
BASE_OF = {verb.third: base for base, verb in VERBS.items()}

BE = {"am": 0, "is": 2, "are": 4}
BE_FORMS = ("suis", "es", "est", "sommes", "sont")
SAT = "sat"  # the one past tense, because cats sit on mats; reflexive in French
SAT_FORMS = ("assis", "assis", "assit", "assîmes", "assirent")
SAT_PRONOUNS = ("m'", "t'", "s'", "nous", "s'")

SUBJECTS = {
    "i": Pronoun("je", 0, "m"),
    "you": Pronoun("tu", 1, "m"),
    "he": Pronoun("il", 2, "m"),
    "she": Pronoun("elle", 2, "f"),
    "it": Pronoun("il", 2, "m"),
    "we": Pronoun("nous", 3, "p"),
    "they": Pronoun("ils", 4, "p"),
}
OBJECTS = {
    "me": "me",
    "you": "te",
    "him": "le",
    "her": "la",
    "it": "le",
    "us": "nous",
    "them": "les",
}
_SON = Determiner("son", "sa", "son", "son")
DETERMINERS = {
    "the": Determiner("le", "la", "l'", "l'"),
    "a": Determiner("un", "une", "un", "une"),
    "an": Determiner("un", "une", "un", "une"),
    "my": Determiner("mon", "ma", "mon", "mon"),
    "your": Determiner("ton", "ta", "ton", "ton"),
    "his": _SON,
    "her": _SON,  # a determiner before a noun phrase, an object pronoun elsewhere
    "this": Determiner("ce", "cette", "cet", "cette"),
}
PREPOSITIONS = {
    "in": "dans",
    "on": "sur",
    "under": "sous",
    "with": "avec",
    "without": "sans",
    "behind": "derrière",
    "for": "pour",
    "over": "par-dessus",
}
CONJUNCTIONS = {"and": "et", "but": "mais", "or": "ou"}
ASKING = {"where": "où", "who": "qui"}
OTHERS = {
    "very": "très",
    "too": "aussi",
    "here": "ici",
    "today": "aujourd'hui",
    "now": "maintenant",
    "hello": "bonjour",
    "yes": "oui",
    "no": "non",
    "thanks": "merci",
}
PUNCTUATION = (".", "!", "?", ",")
DO = ("do", "does")
NOT = "not"
PLAIN = PREPOSITIONS | CONJUNCTIONS | ASKING | OTHERS | {mark: mark for mark in PUNCTUATION}


def slot(number: int) -> str:
    """Name the stand-in for the `number`-th unknown word of a sentence, counted from 1."""
    return f"<{number}>"


def is_slot(word: str) -> bool:
    return word.startswith("<") and word.endswith(">") and word[1:-1].isdigit()


def english_words() -> tuple[str, ...]:
    """Every English word the toy knows, each once, in a fixed order."""
    verbs = (*VERBS, *BASE_OF, SAT, *BE, *DO, NOT)
    groups = (DETERMINERS, NOUNS, ADJECTIVES, verbs, SUBJECTS, OBJECTS, PLAIN)
    return tuple(dict.fromkeys(word for group in groups for word in group))


def french_words() -> tuple[str, ...]:
    """Every French word the teacher can write, each once, in a fixed order."""
    words = [word for determiner in DETERMINERS.values() for word in determiner]
    words += [noun.french for noun in NOUNS.values()]
    words += [form for adjective in ADJECTIVES.values() for form in adjective[:3]]
    words += [form for verb in VERBS.values() for form in verb.forms]
    words += [*BEFORE_VOWEL.values(), *BE_FORMS, *SAT_FORMS, *SAT_PRONOUNS]
    words += [pronoun.french for pronoun in SUBJECTS.values()]
    words += ["j'", *OBJECTS.values(), "t'", "c'", "ne", "n'", "pas", "fait"]
    words += ["est-ce que", "est-ce qu'", *PLAIN.values()]
    return tuple(dict.fromkeys(words))
