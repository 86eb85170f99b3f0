"""Train and measure every variant alike: `python -m model.toy.variants.train`.

Same sentences in the same order, same script, same number of steps, three seeds each, plain
attention included. What is measured is exact match on the test set, which chose nothing: the
seed whose weights are kept is the middle one, not the best.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from model.toy.arithmetic import Blas
from model.toy.datasets import Pair, draw_held_out
from model.toy.evaluate import SEED, mark, share
from model.toy.network import Network, sinusoids
from model.toy.training import Recipe, Trainee, train
from model.toy.variants.catalogue import TRAINED, Variant
from model.toy.variants.results import FOLDER, middle, result_path, weights_path
from model.toy.weights import Weights, rounded, save

STEPS = 6_000
N_PAIRS = 400_000
SEEDS = (0, 1, 2)
N_SENTENCES = 1_000
KINDS = ("grammar", "unknown")
COMMAND = "python -m model.toy.variants.train"


def network_with(variant: Variant, weights: Weights) -> Network:
    """Set a variant up for measuring, with the weights as they would be written."""
    config = variant.config
    parameters = variant.design.assemble(
        config, rounded(weights), sinusoids(config, config.max_written + 1)
    )
    return variant.design.network(config, parameters, Blas())


@cache
def test_pairs(kind: str, max_words: int) -> list[Pair]:
    return draw_held_out(kind, N_SENTENCES, split="test", seed=SEED, max_words=max_words)


@torch.inference_mode()
def measure(variant: Variant, trainee: Trainee, row: int) -> dict[str, float]:
    """Exact match on the test set, by kind of sentence."""
    network = network_with(variant, trainee.weights(row))
    exact = {}
    for kind in KINDS:
        marks = mark(network, test_pairs(kind, variant.config.max_words))
        exact[kind] = share([right for _, right in marks.right])
    return exact


def keep(name: str, recipe: Recipe, trainee: Trainee, seconds: float, folder: Path) -> None:
    """Write one variant's results and the weights of its middle seed."""
    variant = TRAINED[name]
    exact = [measure(variant, trainee, row) for row in range(len(recipe.seeds))]
    row = middle([one["grammar"] for one in exact])
    total = save(trainee.weights(row), weights_path(name, folder))
    found: dict[str, Any] = {
        "variant": name,
        "command": f"{COMMAND} --steps {recipe.n_steps} --only {name}",
        "steps": recipe.n_steps,
        "seeds": recipe.seeds,
        "sentences": N_SENTENCES,
        "exact": exact,
        "kept_seed": recipe.seeds[row],
        "checksum": total,
        "weights": sum(tensor.numel() for tensor in trainee.weights(row).values()),
        "seconds": round(seconds),
    }
    result_path(name, folder).write_text(json.dumps(found, indent=1) + "\n")


def watcher(name: str) -> Callable[[int, float], None]:
    started = time.monotonic()

    def tell(step: int, loss: float) -> None:
        if step % 500 == 499:  # noqa: PLR2004 -- a line every 500 steps
            elapsed = time.monotonic() - started
            print(f"{name} step {step + 1} loss {loss:.4f} {elapsed:.0f} s", flush=True)  # noqa: T201

    return tell


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", nargs="+", choices=list(TRAINED), default=list(TRAINED))
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    recipe = Recipe(n_steps=args.steps, n_pairs=N_PAIRS, seeds=SEEDS)
    args.out.mkdir(exist_ok=True)
    for name in args.only:
        variant, started = TRAINED[name], time.process_time()
        trainee = train(variant.config, recipe, watcher(name), variant.design)
        keep(name, recipe, trainee, time.process_time() - started, args.out)


if __name__ == "__main__":
    main()
