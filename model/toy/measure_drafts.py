"""Measure what drafts are worth on test sentences: `python -m model.toy.measure_drafts`.

About a minute of one core. For every setting: the share of looked-at drafts that stood, words
over passes, and the closed form for that share.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from model.sampling import Sampling
from model.speculation import expected_tokens
from model.toy.config import ToyConfig
from model.toy.datasets import draw_held_out
from model.toy.drafts_measured import MEASURED, SMALLER, TEMPERATURES, settings
from model.toy.evaluate import SEED
from model.toy.translating import Sentence, sentence_of, speculated
from model.toy.variants.results import weights_path
from model.toy.weights import SHIPPED, checksum

N_SENTENCES = 200


def held_out_sentences(n: int = N_SENTENCES) -> list[Sentence]:
    """Draw sentences of the test set and let both toys read them."""
    most = ToyConfig().max_words
    pairs = draw_held_out("grammar", n, split="test", seed=SEED, max_words=most)
    return [sentence_of(" ".join(pair.english)) for pair in pairs]


def over(
    sentences: Iterable[Sentence], name: str, writing: str, draft_tokens: int
) -> dict[str, float]:
    """Add up the rounds of all sentences in one setting."""
    sampling, counts = Sampling(temperature=TEMPERATURES[writing]), [0, 0, 0, 0]
    for seed, sentence in enumerate(sentences):
        found = speculated(sentence, name, draft_tokens, sampling, seed)
        rounds = found["rounds"]
        stood, looked = (sum(map(f, rounds)) for f in (_stood, _looked))
        counts = [
            a + b
            for a, b in zip(counts, (stood, looked, found["n_tokens"], len(rounds)), strict=True)
        ]
    stood, looked, words, passes = counts
    share = stood / looked
    return {
        "acceptance": share,
        "words_a_pass": words / passes,
        "expected": expected_tokens(share, draft_tokens),
    }


def _stood(one: dict[str, Any]) -> int:
    return one["accepted"]


def _looked(one: dict[str, Any]) -> int:
    return len(one["odds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=MEASURED)
    args = parser.parse_args()
    torch.set_num_threads(1)
    sentences = held_out_sentences()
    found = {
        "command": "python -m model.toy.measure_drafts",
        "sentences": len(sentences),
        "checksums": [checksum(path.read_text()) for path in (SHIPPED, weights_path(SMALLER))],
        "settings": {key: over(sentences, *setting) for key, setting in settings().items()},
    }
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
