"""Typed text to the words the toy reads, for any text at all.

No visible character is dropped or altered in silence: a word the toy does not know is carried
through in a slot and comes back as it was typed, what is beyond the limit is returned as left
over, and invisible characters that are dropped are counted.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from model.toy.lexicon import BE_FORMS, SUBJECTS, english_words, slot

Why = Literal["known", "expanded", "carried"]

KNOWN = frozenset(english_words())
CONTRACTIONS = {
    "don't": ("do", "not"),
    "doesn't": ("does", "not"),
    "isn't": ("is", "not"),
    "aren't": ("are", "not"),
    "i'm": ("i", "am"),
    "you're": ("you", "are"),
    "he's": ("he", "is"),
    "she's": ("she", "is"),
    "it's": ("it", "is"),
    "we're": ("we", "are"),
    "they're": ("they", "are"),
    "i've": ("i", "have"),
    "you've": ("you", "have"),
    "we've": ("we", "have"),
    "they've": ("they", "have"),
    "where's": ("where", "is"),
    "who's": ("who", "is"),
}
MAX_CHARACTERS = 4_000  # text after these is counted, not looked at
MAX_LEFT = 100  # pieces kept of what is left over; the others are counted
JOINERS = frozenset("'\N{RIGHT SINGLE QUOTATION MARK}-_")  # part of a word between two letters
DECIMAL = frozenset(".,")  # part of a number between two digits
ZERO_WIDTH_JOINER = "\N{ZERO WIDTH JOINER}"
EXTENDING = frozenset((ZERO_WIDTH_JOINER, "\N{ZERO WIDTH NON-JOINER}"))
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
PRONOUNS = frozenset(pronoun.french for pronoun in SUBJECTS.values())


@dataclass(frozen=True)
class Token:
    """One word the toy reads."""

    typed: str  # as typed; both halves of a contraction carry the whole
    read: str  # a word of the vocabulary, or a slot
    why: Why


@dataclass(frozen=True)
class Reading:
    """What became of a typed text."""

    text: str
    tokens: tuple[Token, ...]
    left: tuple[str, ...]  # typed pieces beyond the limit, the first `MAX_LEFT` of them
    n_left: int  # all of them
    n_unread: int  # characters beyond `MAX_CHARACTERS`, not looked at
    n_dropped: int  # invisible characters (controls, bidirectional marks, lone surrogates)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(token.read for token in self.tokens)


def read(text: str, max_words: int) -> Reading:
    """Split a text into at most `max_words` tokens; total on any string, empty for blank text.

    >>> [token.read for token in read("I don't see Bob!", max_words=12).tokens]
    ['i', 'do', 'not', 'see', '<1>', '!']
    """
    head, n_unread = within_limit(text)
    found, n_dropped = pieces(head)
    tokens: list[Token] = []
    slots: dict[str, str] = {}
    for n_read, piece in enumerate(found):
        meaning = understood(piece, slots)
        if len(tokens) + len(meaning) > max_words:
            left = found[n_read:]
            break
        if meaning[0].why == "carried":
            slots[piece] = meaning[0].read
        tokens += meaning
    else:
        left = []
    return Reading(text, tuple(tokens), tuple(left[:MAX_LEFT]), len(left), n_unread, n_dropped)


def within_limit(text: str) -> tuple[str, int]:
    """Take the part that is looked at, cut between words where possible, and how much is not."""
    if len(text) <= MAX_CHARACTERS:
        return text, 0
    head = text[:MAX_CHARACTERS]
    if not text[MAX_CHARACTERS].isspace() and len(head.split()) > 1:
        head = head[: len(head) - len(head.split()[-1])] if not head[-1].isspace() else head
    return head, len(text) - len(head)


def understood(piece: str, slots: dict[str, str]) -> list[Token]:
    """Read a piece as the toy does: a known word, two of them, or a slot."""
    key = look_up_key(piece)
    if key in CONTRACTIONS:
        return [Token(piece, word, "expanded") for word in CONTRACTIONS[key]]
    if key in KNOWN:
        return [Token(piece, key, "known")]
    return [Token(piece, slots.get(piece, slot(len(slots) + 1)), "carried")]


def look_up_key(piece: str) -> str:
    plain = piece.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return "".join(c for c in plain if c not in EXTENDING)


def pieces(text: str) -> tuple[list[str], int]:
    """Words, and every other visible character on its own; and how many were invisible."""
    found: list[str] = []
    n_dropped = 0
    for chunk in unicodedata.normalize("NFC", text).split():
        clusters = [c for c in graphemes(chunk) if not is_invisible(c)]
        n_dropped += len(chunk) - sum(map(len, clusters))
        found += joined(clusters)
    return found, n_dropped


def joined(clusters: list[str]) -> Iterator[str]:
    """Join runs of letters and digits to words; a joiner belongs to the word it is inside."""
    word = ""
    for k, cluster in enumerate(clusters):
        follower = clusters[k + 1] if k + 1 < len(clusters) else ""
        inside = cluster in JOINERS and is_wordlike(follower)
        inside |= cluster in DECIMAL and word[-1:].isdigit() and follower[:1].isdigit()
        if is_wordlike(cluster) or (word and inside):
            word += cluster
            continue
        if word:
            yield word
        yield cluster
        word = ""
    if word:
        yield word


def is_wordlike(cluster: str) -> bool:
    return bool(cluster) and unicodedata.category(cluster[0])[0] in "LNM"


def is_invisible(cluster: str) -> bool:
    """Say whether it is a control, a format character or a lone surrogate."""
    return unicodedata.category(cluster[0]) in {"Cc", "Cf", "Cs"}


def graphemes(chunk: str) -> list[str]:
    """Split into what a reader sees as one character: near UAX #29 for marks and emoji."""
    clusters: list[list[str]] = []
    open_flag = False
    for character in chunk:
        is_flag_half = "\N{REGIONAL INDICATOR SYMBOL LETTER A}" <= character <= "\U0001f1ff"
        attached = extends(character) or (open_flag and is_flag_half)
        attached |= bool(clusters) and clusters[-1][-1] == ZERO_WIDTH_JOINER
        if clusters and attached and not is_invisible(clusters[-1][0]):
            clusters[-1].append(character)
        else:
            clusters.append([character])
        open_flag = is_flag_half and not open_flag
    return ["".join(cluster) for cluster in clusters]


def extends(character: str) -> bool:
    """Whether a character changes the one before it: marks, joiners, skin tones, flag tags."""
    return (
        unicodedata.category(character)[0] == "M"
        or character in EXTENDING
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def spell(words: tuple[str, ...], tokens: tuple[Token, ...]) -> str:
    """Written words as a French sentence, carried words as they were typed.

    >>> spell(("es", "tu", "content", "?"), ()).replace(NARROW_SPACE, " ")
    'Es-tu content ?'
    """
    typed = {token.read: token.typed for token in tokens if token.why == "carried"}
    sentence, previous = "", ""
    for word in words:
        sentence += space_between(previous, word) + typed.get(word, word)
        previous = word
    if words and words[0] not in typed:
        sentence = sentence[:1].upper() + sentence[1:]
    return sentence


def space_between(previous: str, word: str) -> str:
    if not previous or previous.endswith("'") or word in {".", ","}:
        return ""
    if previous in BE_FORMS and word in PRONOUNS:
        return "-"
    return NARROW_SPACE if word in {"!", "?"} else " "
