"""Numbers the prose quotes about the toy itself: its size, its language, how right it is."""

import json
import math
from functools import cache
from typing import Any

from model.facts import Fact
from model.toy.config import ToyConfig
from model.toy.evaluate import ACCURACY
from model.toy.lexicon import english_words, french_words
from model.toy.parameters import shapes
from model.toy.train import BROAD, FINISHING
from model.toy.weights import DECIMALS, SHIPPED, checksum

CONFIG = ToyConfig()


@cache
def _measured() -> dict[str, Any]:
    return json.loads(ACCURACY.read_text())["sets"]["test"]


def _exact(kind: str) -> Fact:
    marks = _measured()["kinds"][kind]
    return Fact(
        text=f"{100 * marks['exact']:.1f} %",
        how=f"exact match with the teacher on {marks['n']:,} held-out sentences",
    )


def _alignment() -> Fact:
    found = _measured()["alignment"]
    return Fact(
        text=f"{100 * found['mean_weight']:.1f} %",
        how="mean weight on the source word being translated, best head of the last layer",
    )


def _aligned_head() -> str:
    return str(_measured()["alignment"]["head"] + 1)


def _n_weights() -> Fact:
    return Fact(
        text=f"{sum(math.prod(shape) for shape in shapes(CONFIG).values()):,}",
        how="the sizes of all trained parameters, added up",
    )


def _checksum() -> str:
    return checksum(SHIPPED.read_text())[:16]


FACTS = {
    "toy-accuracy": lambda: _exact("grammar"),
    "toy-accuracy-unknown": lambda: _exact("unknown"),
    "toy-accuracy-damaged": lambda: _exact("damaged"),
    "toy-accuracy-salad": lambda: _exact("salad"),
    "toy-accuracy-all-unknown": lambda: _exact("all unknown"),
    "toy-n-test": lambda: f"{_measured()['kinds']['grammar']['n']:,}",
    "toy-alignment": _alignment,
    "toy-alignment-head": _aligned_head,
    "toy-n-weights": _n_weights,
    "toy-decimals": str(DECIMALS),
    "toy-checksum": _checksum,
    "toy-n-english": lambda: str(len(english_words())),
    "toy-n-french": lambda: str(len(french_words())),
    "toy-max-words": str(CONFIG.max_words),
    "toy-d-model": str(CONFIG.d_model),
    "toy-position-base": f"{CONFIG.position_base:g}",
    "toy-training-steps": f"{BROAD.n_steps + FINISHING.n_steps:,}",
    "toy-numbers-per-token": Fact(
        text=str(2 * CONFIG.n_layers * CONFIG.n_kv_heads * CONFIG.d_head),
        how=f"{CONFIG.n_layers} layers × {CONFIG.n_kv_heads} heads"
        f" × ({CONFIG.d_head} + {CONFIG.d_head})",
    ),
}
