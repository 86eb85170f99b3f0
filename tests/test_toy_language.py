"""The language the toy learns: a teacher for every list of words, and sets that never mix."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.toy.config import ToyConfig
from model.toy.datasets import (
    KINDS,
    Split,
    canonical,
    draw_held_out,
    draw_training,
    split_of,
)
from model.toy.lexicon import english_words, french_words, is_slot, slot
from model.toy.teacher import translate
from model.toy.vocabulary import vocabularies

SLOTS = [slot(k) for k in range(1, ToyConfig().max_words + 1)]
salad = st.lists(st.sampled_from([*english_words(), *SLOTS]), max_size=20)
TRANSLATIONS = {
    "the black cat sees a white bird .": "le chat noir voit un oiseau blanc .",
    "i love you": "je t' aime",
    "the cat sat on the mat": "le chat s' assit sur le tapis",
    "the quick brown fox jumps over the lazy dog": (
        "le rapide renard brun saute par-dessus le chien paresseux"
    ),
    "my dog is very happy !": "mon chien est très content !",
    "she does not eat the red apple": "elle ne mange pas la pomme rouge",
    "we do not like <1> <2> <3>": "nous n' aimons pas <1> <2> <3>",
    "the king and the queen see him": "le roi et la reine le voient",
    "the cow is black and white": "la vache est noire et blanche",
    "are you not happy ?": "n' es tu pas content ?",
    "where is her cat ?": "où est son chat ?",
    "i see her": "je la vois",
    "does the old man love her ?": "est-ce que le vieil homme l' aime ?",
    "a very big house": "une très grande maison",
    "it is not a small world": "ce n' est pas un petit monde",
    "this is my house": "c' est ma maison",
    "i do not know them": "je ne les connais pas",
    "the dog and the cat sat here": "le chien et le chat s' assirent ici",
    "the <1> cat": "le <1> chat",
    "who sees the cat ?": "qui voit le chat ?",
}


@pytest.mark.parametrize(("english", "french"), TRANSLATIONS.items(), ids=str)
def test_the_teacher_writes_french(english: str, french: str):
    assert " ".join(translate(english.split())) == french


@settings(max_examples=500)
@given(salad)
def test_the_teacher_has_an_answer_to_everything_in_its_own_words(words: list[str]):
    french = translate(words)
    assert set(french) <= {*french_words(), *SLOTS}
    assert sorted(filter(is_slot, french)) == sorted(filter(is_slot, words))
    assert len(french) <= ToyConfig().max_written or len(words) > ToyConfig().max_words


@given(salad)
def test_renumbering_slots_does_not_change_the_set(words: list[str]):
    renumbered = [SLOTS[-1 - SLOTS.index(w)] if w in SLOTS else w for w in words]
    assert split_of(tuple(words)) == split_of(tuple(renumbered))
    assert canonical(tuple(words)) == canonical(tuple(renumbered))


def test_training_sentences_are_in_neither_held_out_set():
    assert {split_of(p.english) for p in draw_training(500, seed=3, max_words=12)} == {"training"}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "all unknown"])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_held_out_sentences_are_distinct_and_in_their_set(kind: str, split: Split):
    pairs = draw_held_out(kind, 12, split=split, seed=0, max_words=12)
    assert {split_of(pair.english) for pair in pairs} == {split}
    assert len({pair.english for pair in pairs}) == 12
    assert all(pair.french == tuple(translate(pair.english)) for pair in pairs)


def test_the_same_seed_draws_the_same_sentences():
    first, again = (list(draw_training(50, seed=5, max_words=12)) for _ in range(2))
    other = list(draw_training(50, seed=6, max_words=12))
    assert first == again
    assert first != other


def test_the_language_is_small_enough_for_eight_numbers():
    assert len(english_words()) <= 130
    assert len(french_words()) <= 190


def test_every_word_has_one_id():
    for vocabulary in vocabularies(ToyConfig()):
        assert [vocabulary.ids[word] for word in vocabulary.words] == list(
            range(len(vocabulary.words))
        )
