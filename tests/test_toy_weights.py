"""The shipped weights are the ones measured, and they do what the page says."""

import json
from pathlib import Path

import pytest
import torch

from model.toy.config import ToyConfig
from model.toy.datasets import draw_held_out
from model.toy.evaluate import ACCURACY, mark, network_of, share
from model.toy.examples import EXAMPLES
from model.toy.parameters import shapes
from model.toy.record import record, shipped
from model.toy.teacher import translate
from model.toy.weights import DECIMALS, SHIPPED, as_text, checksum, checksum_file, load, save

BAR = 0.95
N = 300
FRENCH = {
    "The black cat sees a white bird.": "Le chat noir voit un oiseau blanc.",
    "I love you": "Je t'aime",
    "The cat sat on the mat": "Le chat s'assit sur le tapis",
    "The quick brown fox jumps over the lazy dog": (
        "Le rapide renard brun saute par-dessus le chien paresseux"
    ),
    "My dog is very happy!": "Mon chien est très content\u202f!",
    "She does not eat the red apple": "Elle ne mange pas la pomme rouge",
    "We don't like pineapple pizza 🍕": "Nous n'aimons pas pineapple pizza 🍕",
}


def test_every_example_has_its_french_here():
    assert set(FRENCH) == set(EXAMPLES)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_come_out_in_french(text: str):
    trace = record(text)
    assert trace.sentence == FRENCH[text]
    assert list(trace.words) == [*translate(trace.reading.words), "</s>"]


@pytest.mark.parametrize("kind", ["grammar", "unknown"])
@torch.inference_mode()
def test_the_weights_reach_the_bar_on_sentences_never_looked_at(kind: str):
    pairs = draw_held_out(kind, N, split="test", seed=11, max_words=shipped().config.max_words)
    assert share([right for _, right in mark(network_of(shipped()), pairs).right]) >= BAR


def test_the_accuracy_on_the_page_was_measured_with_these_weights():
    measured = json.loads(ACCURACY.read_text())
    assert measured["checksum"] == checksum(SHIPPED.read_text())
    for found in measured["sets"].values():
        assert found["kinds"]["grammar"]["exact"] >= BAR
        assert found["kinds"]["unknown"]["exact"] >= BAR


def test_what_is_written_is_the_weight():
    weights = load(ToyConfig())
    assert as_text(weights) == SHIPPED.read_text()
    for tensor in weights.values():
        assert torch.equal(tensor, torch.round(tensor * 10**DECIMALS) / 10**DECIMALS)
    assert {name: tuple(tensor.shape) for name, tensor in weights.items()} == shapes(ToyConfig())


def test_weights_survive_being_written(tmp_path: Path):
    path = tmp_path / "weights.json"
    total = save(load(ToyConfig()), path)
    assert total == checksum(SHIPPED.read_text())
    assert as_text(load(ToyConfig(), path)) == SHIPPED.read_text()


def test_a_changed_weight_is_refused(tmp_path: Path):
    path = tmp_path / "weights.json"
    save(load(ToyConfig()), path)
    text = path.read_text()
    path.write_text(text.replace("1", "2", 1))
    with pytest.raises(ValueError, match=checksum_file(path).read_text().split()[0]):
        load(ToyConfig(), path)
