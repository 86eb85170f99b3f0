"""How the toy is trained.

Several seeds are trained at once, side by side in the same tensors: at this size a step costs
what its few hundred operations cost to start, not what they compute.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from model.toy.arithmetic import Arithmetic, Blas
from model.toy.cache import Forgetful
from model.toy.config import ToyConfig
from model.toy.data import ABSENT, Batch, Group, batches, group_by_length
from model.toy.datasets import EVERYDAY, Course, draw_training
from model.toy.initial import Bound, by_projection
from model.toy.masks import Mask
from model.toy.network import Network, sinusoids
from model.toy.parameters import Parameters, Shapes, assemble, shapes
from model.toy.vocabulary import vocabularies
from model.toy.weights import Weights


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One course of training: how long, how fast, on what."""

    n_steps: int = 30_000
    batch_size: int = 64
    n_pairs: int = 600_000
    learning_rate: float = 1e-2
    warm_up: int = 400
    final_share: float = 0.01  # of the learning rate, at the end of the cosine
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    seeds: tuple[int, ...] = (0, 1)
    data_seed: int = 1
    course: Course = EVERYDAY
    bound: Bound = by_projection

    def rate(self, step: int) -> float:
        cosine = 0.5 * (1 + math.cos(math.pi * step / self.n_steps))
        decay = self.final_share + (1 - self.final_share) * cosine
        return self.learning_rate * min(1.0, (step + 1) / self.warm_up) * decay


class SideBySide(Blas):
    """Arithmetic of several models at once: every parameter has a leading `seeds` axis."""

    def rows(
        self, table: Float[Tensor, "seeds vocab d_model"], ids: Int[Tensor, "batch new"]
    ) -> Float[Tensor, "seeds batch new d_model"]:
        picked = one_hot(ids.flatten(), table.shape[1]).to(table.dtype)
        return (picked @ table).unflatten(1, ids.shape)

    def linear(
        self, x: Float[Tensor, "seeds batch new d_in"], w: Float[Tensor, "seeds d_in d_out"]
    ) -> Float[Tensor, "seeds batch new d_out"]:
        return torch.bmm(x.flatten(1, 2), w).unflatten(1, x.shape[1:3])

    def softmax(
        self, scores: Float[Tensor, "seeds batch heads new seen"]
    ) -> Float[Tensor, "seeds batch heads new seen"]:
        powers = (scores - scores.detach().amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True)  # for short rows faster than torch's softmax


class Design(NamedTuple):
    """What a variant of the network brings: its parameters, their places, and what it computes."""

    shapes: Callable[[ToyConfig], Shapes]
    assemble: Callable[[ToyConfig, Mapping[str, Tensor], Tensor], Parameters]
    network: Callable[[ToyConfig, Parameters, Arithmetic], Network]


STANDARD = Design(shapes, assemble, Network)


class Trainee:
    """The parameters of all seeds in one flat tensor, with named views into it."""

    def __init__(
        self,
        config: ToyConfig,
        seeds: tuple[int, ...],
        design: Design = STANDARD,
        bound: Bound = by_projection,
    ) -> None:
        self.config = config
        self.seeds = seeds
        self.design = design
        self.shapes = design.shapes(config)
        n_numbers = sum(math.prod(shape) for shape in self.shapes.values())
        self.flat = torch.zeros(len(seeds), n_numbers)
        self.gradient = torch.zeros_like(self.flat)
        self.flat.grad = self.gradient
        self.named: dict[str, Tensor] = {}
        start = 0
        for name, shape in self.shapes.items():
            end = start + math.prod(shape)
            self.named[name] = self._view(self.flat, start, end, shape).requires_grad_()
            self.named[name].grad = self._view(self.gradient, start, end, shape)
            start = end
        for row, seed in enumerate(seeds):
            self._initialise(row, torch.Generator().manual_seed(seed), bound)

    def _view(self, flat: Tensor, start: int, end: int, shape: tuple[int, ...]) -> Tensor:
        rows = flat.detach()[:, start:end]
        if len(shape) == 1:  # a gain, shift or bias: spread over batch and places
            return rows[:, None, None, :]
        return rows.unflatten(1, shape)

    def _initialise(self, row: int, generator: torch.Generator, bound: Bound) -> None:
        for name in self.shapes:
            target = self.named[name].detach()[row]
            if "gain" in name:
                target.fill_(1.0)
            elif "shift" in name:
                target.zero_()
            elif name in {"english", "french", "unembed"}:
                target.normal_(std=self.config.d_model**-0.5, generator=generator)
            elif bound(name, self.shapes):
                limit = bound(name, self.shapes)
                target.uniform_(-limit, limit, generator=generator)

    @torch.no_grad()
    def continue_from(self, before: "Trainee") -> None:
        """Start where the same seeds ended another course."""
        self.flat.copy_(before.flat[[before.seeds.index(seed) for seed in self.seeds]])

    def network(self) -> Network:
        positions = sinusoids(self.config, self.config.max_written + 2).float()
        parameters = self.design.assemble(self.config, self.named, positions)
        return self.design.network(self.config, parameters, SideBySide())

    def weights(self, row: int) -> Weights:
        return {
            name: self.named[name].detach()[row].reshape(shape).double().clone()
            for name, shape in self.shapes.items()
        }


def loss_of(network: Network, batch: Batch, mask: Mask) -> Tensor:
    """Mean cross-entropy of each seed's model, summed over the seeds."""
    memory = network.encode(batch.source).memory
    length = batch.fed.shape[-1]
    keepers = [Forgetful()] * network.config.n_layers
    source = network.project_memory(memory)
    decoded = network.decode(batch.fed, slice(0, length), keepers, source, mask(length, length))
    logits = network.logits(decoded.y)
    wanted = batch.wanted.expand(len(logits), -1, -1)
    total = cross_entropy(
        logits.flatten(0, 2), wanted.flatten(), ignore_index=ABSENT, reduction="sum"
    )
    return total / (batch.wanted != ABSENT).sum()


def clip_rows(gradient: Float[Tensor, "seeds numbers"], limit: float) -> None:
    """Scale each seed's gradient down to the limit, on its own."""
    norms = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((limit / (norms + 1e-6)).clamp(max=1.0))


def backward(loss: Tensor) -> None:
    """Add up gradients in the flat tensor the optimiser reads.

    The views into it are laid out per seed; torch would rather see each gradient dense.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "grad and param do not obey the gradient layout")
        loss.backward()


@cache
def material(recipe: Recipe, max_words: int) -> dict[int, Group]:
    """Draw the training pairs of a recipe, once for all that are trained on them."""
    pairs = draw_training(
        recipe.n_pairs, seed=recipe.data_seed, max_words=max_words, course=recipe.course
    )
    return group_by_length(pairs, vocabularies(ToyConfig(max_words=max_words)))


Watch = Callable[[int, float], None]


def train(
    config: ToyConfig,
    recipe: Recipe,
    watch: Watch,
    design: Design = STANDARD,
    before: Trainee | None = None,
) -> Trainee:
    """Train all seeds of a recipe on the same batches, from the start or from where they were."""
    groups = material(recipe, config.max_words)
    trainee = Trainee(config, recipe.seeds, design, recipe.bound)
    if before is not None:
        trainee.continue_from(before)
    network = trainee.network()
    optimiser = torch.optim.Adam([trainee.flat], betas=recipe.betas, fused=True)
    endless = batches(groups, recipe.batch_size, recipe.data_seed)
    for step, batch in zip(range(recipe.n_steps), endless, strict=False):
        optimiser.param_groups[0]["lr"] = recipe.rate(step)
        trainee.gradient.zero_()
        loss = loss_of(network, batch, network.mask)
        backward(loss)
        clip_rows(trainee.gradient, recipe.clip)
        optimiser.step()
        watch(step, loss.item() / len(recipe.seeds))
    return trainee
