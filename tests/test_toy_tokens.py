"""Any text can be typed: nothing visible is lost or altered in silence."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import BadInput
from model.toy.config import ToyConfig
from model.toy.lexicon import english_words, is_slot
from model.toy.record import understand
from model.toy.tokens import (
    CONTRACTIONS,
    MAX_CHARACTERS,
    MAX_LEFT,
    is_invisible,
    pieces,
    read,
    spell,
)

N = 12
anything = st.text(alphabet=st.characters(), max_size=80)  # surrogates and controls included


def typed(text: str) -> list[str]:
    return [token.typed for token in read(text, N).tokens]


def reads(text: str) -> list[str]:
    return list(read(text, N).words)


@settings(max_examples=500)
@given(anything)
def test_every_visible_character_is_read_left_or_nowhere(text: str):
    reading = read(text, N)
    shown = [token.typed for token in reading.tokens if token.why != "expanded"]
    halves = [token.typed for token in reading.tokens if token.why == "expanded"]
    seen = "".join([*shown, *halves[::2], *reading.left])
    kept = sorted(c for c in seen if not is_invisible(c))
    wanted = "".join(unicodedata.normalize("NFC", text).split())
    assert kept == sorted(c for c in wanted if not is_invisible(c))


@settings(max_examples=500)
@given(anything)
def test_the_limit_holds_and_every_word_read_is_in_the_vocabulary(text: str):
    reading = read(text, N)
    assert len(reading.tokens) <= N
    known = set(english_words())
    assert all(token.read in known or is_slot(token.read) for token in reading.tokens)
    assert all((token.why == "carried") == is_slot(token.read) for token in reading.tokens)


@settings(max_examples=500)
@given(anything)
def test_one_spelling_one_slot(text: str):
    carried = {(t.typed, t.read) for t in read(text, N).tokens if t.why == "carried"}
    assert len({a for a, _ in carried}) == len({b for _, b in carried}) == len(carried)


@given(anything)
def test_dropped_characters_are_counted(text: str):
    found, n_dropped = pieces(text)
    normal = "".join(unicodedata.normalize("NFC", text).split())
    assert sum(map(len, found)) + n_dropped == len(normal)


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "The cat.": ["The", "cat", "."],
        "costs $3.50, ok": ["costs", "$", "3.50", ",", "ok"],
        "e\u0301te\u0301 x": ["été", "x"],
        "👩‍👩‍👧‍👦🇫🇷🇯🇵👍🏽": ["👩‍👩‍👧‍👦", "🇫🇷", "🇯🇵", "👍🏽"],
        "1️⃣ co-op dog's -x-": ["1️⃣", "co-op", "dog's", "-", "x", "-"],
        "<b>hi</b>": ["<", "b", ">", "hi", "<", "/", "b", ">"],
        "שלום \u202eevil\u202c \x00": ["שלום", "evil"],
        "\ud800a": ["a"],
        "بی\u200cپول": ["بی\u200cپول"],
        "日本語": ["日本語"],
        "...": [".", ".", "."],
    }.items(),
    ids=str,
)
def test_texts_split_as_a_reader_sees_them(text: str, expected: list[str]):
    assert typed(text) == expected


@pytest.mark.parametrize("contraction", CONTRACTIONS)
def test_contractions_are_two_known_words(contraction: str):
    reading = read(contraction.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").upper(), N)
    assert reading.words == CONTRACTIONS[contraction]
    assert {token.why for token in reading.tokens} == {"expanded"}


def test_a_typed_slot_or_mark_is_only_characters():
    assert reads("<1> </s>") == ["<1>", "<2>", "<3>", "<1>", "<4>", "<5>", "<3>"]
    assert typed("<1> </s>") == ["<", "1", ">", "<", "/", "s", ">"]


def test_a_contraction_that_does_not_fit_is_left_whole():
    reading = read("a " * (N - 1) + "don't go", N)
    assert len(reading.tokens) == N - 1
    assert reading.left == ("don't", "go")


def test_what_is_left_over_is_counted_and_only_its_beginning_kept():
    reading = read("word " * 500, N)
    assert (len(reading.tokens), reading.n_left, len(reading.left)) == (N, 488, MAX_LEFT)


@pytest.mark.parametrize("text", ["word " * 10_000, "x" * 1_000_000, "e" + "\u0301" * 100_000])
def test_a_huge_text_is_looked_at_in_part_and_the_rest_counted(text: str):
    reading = read(text, N)
    assert sum(map(len, reading.left)) + sum(map(len, typed(text))) <= MAX_CHARACTERS
    assert len(text) - MAX_CHARACTERS <= reading.n_unread < len(text)


def test_a_long_text_is_cut_between_words():
    reading = read("x" * 10 + " " + "sevench " * 600, N)
    assert set(reading.left) == {"sevench"}


@pytest.mark.parametrize("text", ["", "   \n\t", "\u200b\x00", "\u202e"])
def test_nothing_typed_says_what_to_type(text: str):
    with pytest.raises(BadInput, match="type at least 1 word"):
        understand(text, ToyConfig())


def test_french_is_spelled_as_french():
    tokens = read("my Zoë", N).tokens
    assert spell(("je", "t'", "aime", ",", "<1>", "!"), tokens) == "Je t'aime, Zoë\u202f!"
    assert spell(("<1>",), read("zoë", N).tokens) == "zoë"
    assert spell(("où", "est", "il", "?"), ()) == "Où est-il\u202f?"
