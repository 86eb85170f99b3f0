"""How often the toy writes what its teacher would: `python -m model.toy.evaluate`.

Right means equal to the teacher in every word. The test set was never looked at while words,
mix, seed or weights were chosen; the validation set was used for just that.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model.toy.arithmetic import Blas
from model.toy.cache import Forgetful
from model.toy.config import ToyConfig
from model.toy.datasets import MEASURED, Pair, Split, draw_held_out
from model.toy.decode import following
from model.toy.lexicon import NOUNS, is_slot
from model.toy.network import Decoded, Network
from model.toy.record import Toy, may_write, shipped
from model.toy.vocabulary import END, START, vocabularies
from model.toy.weights import SHIPPED, checksum

ACCURACY = Path(__file__).with_name("accuracy.json")
SPLITS: tuple[Split, ...] = ("validation", "test")
SEED = 7  # of the held-out sentences drawn
CHUNK = 512


class Written(NamedTuple):
    """What the toy wrote for sentences of one length, and its last decoder pass over all of it."""

    words: Int[Tensor, "batch written"]
    decoded: Decoded


def network_of(toy: Toy) -> Network:
    """Set a toy up for speed; the order of sums moves no word, ties apart."""
    return Network(toy.config, toy.parameters, Blas())


def write_batch(network: Network, sentences: Sequence[tuple[str, ...]]) -> Written:
    """Greedy decoding of sentences of one length, side by side."""
    config = network.config
    english, french = (vocabulary.ids for vocabulary in vocabularies(config))
    ids = torch.tensor([[english[word] for word in (*words, END)] for words in sentences])
    allowed = torch.stack([may_write(words, config) for words in sentences])
    source = network.project_memory(network.encode(ids).memory)
    written = torch.full((len(ids), 1), french[START])
    n = 0
    while True:
        n += 1
        nothing = [Forgetful() for _ in source]
        mask = network.mask(n, n)
        decoded = network.decode(written, following(0, n), nothing, source, mask)
        newest = likeliest_allowed(network, decoded, allowed)
        written = torch.cat([written, newest], dim=1)
        if n == config.max_written or (written == french[END]).any(dim=1).all():
            return Written(written[:, 1:], decoded)


def likeliest_allowed(
    network: Network, decoded: Decoded, allowed: Bool[Tensor, "batch vocab"]
) -> Int[Tensor, "batch one"]:
    logits = network.logits(decoded.y[:, -1:])[:, 0]
    return logits.masked_fill(~allowed, -torch.inf).argmax(dim=1, keepdim=True)


class Marks(NamedTuple):
    """Right or wrong for each sentence, and how well each head of the last layer aligns."""

    right: list[tuple[int, bool]]  # length in words, and whether all of it is right
    alignment: list[float]  # mean weight on the source word being translated, per head


def mark(network: Network, pairs: Sequence[Pair]) -> Marks:
    """Compare with the teacher, in batches of one source length."""
    by_length: dict[int, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_length[len(pair.english)].append(pair)
    right: list[tuple[int, bool]] = []
    weights: list[Tensor] = []
    for length, group in sorted(by_length.items()):
        for start in range(0, len(group), CHUNK):
            chunk = group[start : start + CHUNK]
            written = write_batch(network, [pair.english for pair in chunk])
            right += [(length, same) for same in same_words(network.config, written.words, chunk)]
            weights += aligned_weights(network.config, written, chunk)
    alignment = torch.stack(weights).mean(0).tolist() if weights else []
    return Marks(right, alignment)


def same_words(
    config: ToyConfig, written: Int[Tensor, "batch written"], pairs: list[Pair]
) -> list[bool]:
    french = vocabularies(config).french.ids
    expected = [[french[word] for word in (*pair.french, END)] for pair in pairs]
    return [row[: len(want)] == want for row, want in zip(written.tolist(), expected, strict=True)]


def aligned_weights(config: ToyConfig, written: Written, pairs: list[Pair]) -> list[Tensor]:
    """Each head's cross-attention weight on a noun or unknown word while it is being written."""
    weights = written.decoded.layers[-1].cross.weights  # [batch, heads, written, source]
    words = vocabularies(config).french.words
    found = []
    for row, pair in enumerate(pairs):
        places = {french_of(word): k for k, word in enumerate(pair.english)}
        if len(places) < len(pair.english):  # a repeated word has two places
            continue
        for step, word_id in enumerate(written.words[row].tolist()):
            place = places.get(words[word_id]) if is_content(words[word_id]) else None
            if place is not None:
                found.append(weights[row, :, step, place])
    return found


FRENCH_NOUNS = {noun.french for noun in NOUNS.values()}


def is_content(word: str) -> bool:
    return word in FRENCH_NOUNS or is_slot(word)


def french_of(word: str) -> str:
    return NOUNS[word].french if word in NOUNS else word


def summary(right: list[tuple[int, bool]]) -> dict[str, Any]:
    by_length: dict[int, list[bool]] = defaultdict(list)
    for length, same in right:
        by_length[length].append(same)
    return {
        "n": len(right),
        "exact": share([same for _, same in right]),
        "by_length": {
            length: {"n": len(marks), "exact": share(marks)}
            for length, marks in sorted(by_length.items())
        },
    }


def share(marks: list[bool]) -> float:
    return round(sum(marks) / len(marks), 4)


def evaluate(network: Network, split: Split, n: int) -> dict[str, Any]:
    """Exact match for every kind of sentence of one held-out set, and the best aligning head."""
    marks = {kind: mark(network, held_out(network.config, kind, split, n)) for kind in MEASURED}
    alignment = marks["grammar"].alignment
    best = max(range(len(alignment)), key=alignment.__getitem__)
    return {
        "kinds": {kind: summary(found.right) for kind, found in marks.items()},
        "alignment": {
            "layer": network.config.n_layers - 1,
            "head": best,
            "mean_weight": round(alignment[best], 4),
        },
    }


def held_out(config: ToyConfig, kind: str, split: Split, n: int) -> list[Pair]:
    return draw_held_out(kind, n, split=split, seed=SEED, max_words=config.max_words)


def table(found: dict[str, Any]) -> str:
    """Exact match as text: a row a kind of sentence, a column a length."""
    lengths = sorted({k for kind in found["kinds"].values() for k in kind["by_length"]})
    lines = [f"{'':14}{'n':>6}{'exact':>8}" + "".join(f"{length:>6}" for length in lengths)]
    for kind, marks in found["kinds"].items():
        cells = [marks["by_length"].get(length, {}).get("exact") for length in lengths]
        row = "".join(f"{'':>6}" if cell is None else f"{cell:6.2f}" for cell in cells)
        lines.append(f"{kind:14}{marks['n']:6}{marks['exact']:8.4f}{row}")
    lines.append(
        "alignment: layer {layer}, head {head}: {mean_weight}".format(**found["alignment"])
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000, help="sentences of each kind")
    parser.add_argument("--out", type=Path, default=ACCURACY)
    args = parser.parse_args()
    torch.set_num_threads(1)
    sets = {}
    with torch.inference_mode():
        for split in SPLITS:
            sets[split] = evaluate(network_of(shipped()), split, args.n)
            print(f"{split} set\n{table(sets[split])}\n")  # noqa: T201
    facts = {"checksum": checksum(SHIPPED.read_text()), "seed": SEED, "sets": sets}
    args.out.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
