"""Training is deterministic, and its side-by-side arithmetic is the network's own."""

import math

import pytest
import torch

from model.toy.arithmetic import Blas
from model.toy.cache import Forgetful
from model.toy.config import ToyConfig
from model.toy.data import ABSENT, batches, group_by_length
from model.toy.datasets import draw_training
from model.toy.masks import causal
from model.toy.network import Network
from model.toy.record import toy_of
from model.toy.training import Recipe, Trainee, clip_rows, loss_of, train
from model.toy.vocabulary import END, START, vocabularies

CONFIG = ToyConfig()
RECIPE = Recipe(n_steps=4, n_pairs=400, batch_size=8, seeds=(0, 1))


def trained(recipe: Recipe = RECIPE, config: ToyConfig = CONFIG) -> Trainee:
    return train(config, recipe, lambda _step, _loss: None)


def some_batch():
    pairs = draw_training(200, seed=1, max_words=12)
    return next(batches(group_by_length(pairs, vocabularies(CONFIG)), 16, seed=0))


def test_training_twice_gives_the_same_weights():
    first, again = trained(), trained()
    assert torch.equal(first.flat, again.flat)
    assert not torch.equal(first.flat[0], first.flat[1])


def test_the_seeds_do_not_touch_each_other():
    """A seed trained beside another is the seed trained alone."""
    together = trained()
    alone = trained(Recipe(n_steps=4, n_pairs=400, batch_size=8, seeds=(1,)))
    assert (together.flat[1] - alone.flat[0]).abs().max() < 1e-5


def test_training_lowers_the_loss():
    losses = []
    train(
        CONFIG, Recipe(n_steps=40, n_pairs=1000, warm_up=10), lambda _s, loss: losses.append(loss)
    )
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])


@pytest.mark.parametrize("config", [CONFIG, ToyConfig(n_kv_heads=1), ToyConfig(n_heads=4)])
def test_models_side_by_side_compute_what_each_computes_alone(config: ToyConfig):
    trainee, batch = Trainee(config, (0, 1)), some_batch()
    together = loss_of(trainee.network(), batch, causal)
    alone = 0.0
    for row in range(2):
        network = Network(config, toy_of(config, trainee.weights(row)).parameters, Blas())
        n = batch.fed.shape[-1]
        source = network.project_memory(network.encode(batch.source).memory)
        nothing = [Forgetful() for _ in source]
        decoded = network.decode(batch.fed, slice(0, n), nothing, source, causal(n, n))
        chances = network.logits(decoded.y).log_softmax(-1)
        kept = batch.wanted != ABSENT
        right = chances.gather(-1, batch.wanted.clamp(min=0)[..., None])[..., 0]
        alone -= float(right[kept].mean())
    assert abs(float(together.detach()) - alone) < 1e-4


def test_batches_hold_sentences_of_one_length_between_the_marks():
    batch = some_batch()
    english, french = vocabularies(CONFIG)
    assert (batch.source[:, -1] == english.ids[END]).all()
    assert (batch.fed[:, 0] == french.ids[START]).all()
    ends = (batch.wanted == french.ids[END]).sum(-1)
    assert (ends == 1).all()
    for fed, wanted in zip(batch.fed.tolist(), batch.wanted.tolist(), strict=True):
        n = sum(word != ABSENT for word in wanted)
        assert fed[1:n] == wanted[: n - 1]


def test_the_rate_warms_up_and_comes_down():
    recipe = Recipe()
    assert recipe.rate(0) < recipe.rate(recipe.warm_up - 1)
    assert math.isclose(recipe.rate(recipe.n_steps), recipe.learning_rate * recipe.final_share)


def test_each_seeds_gradient_is_clipped_alone():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    clip_rows(gradient, 1.0)
    assert torch.allclose(gradient, torch.tensor([[0.6, 0.8], [0.3, 0.4]]), atol=1e-5)


def test_a_second_course_starts_where_the_first_ended():
    first = trained()
    second = train(
        CONFIG,
        Recipe(n_steps=0, n_pairs=400, seeds=(1,)),
        lambda _step, _loss: None,
        before=first,
    )
    assert torch.equal(second.flat[0], first.flat[1])
    for name, tensor in second.weights(0).items():
        assert torch.equal(tensor, first.weights(1)[name])
