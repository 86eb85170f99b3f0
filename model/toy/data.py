"""Training pairs as arrays of ids, and batches of them in an order fixed by a seed."""

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from model.toy.datasets import Pair
from model.toy.vocabulary import END, START, Vocabularies

ABSENT = -100  # past the end of a target; the index torch's cross-entropy ignores


class Batch(NamedTuple):
    source: Int[Tensor, "batch source"]
    fed: Int[Tensor, "batch new"]
    wanted: Int[Tensor, "batch new"]


Group = tuple[np.ndarray, np.ndarray]  # sources of one length, targets padded with ABSENT


def group_by_length(pairs: Iterable[Pair], vocabulary: Vocabularies) -> dict[int, Group]:
    """Pairs with sources of one length together, so that no source needs padding."""
    rows: dict[int, list[tuple[list[int], list[int]]]] = {}
    for pair in pairs:
        source = [vocabulary.english.ids[word] for word in (*pair.english, END)]
        target = [vocabulary.french.ids[word] for word in (START, *pair.french, END)]
        rows.setdefault(len(source), []).append((source, target))
    return {length: as_arrays(found) for length, found in sorted(rows.items())}


def as_arrays(rows: list[tuple[list[int], list[int]]]) -> Group:
    width = max(len(target) for _, target in rows)
    targets = np.full((len(rows), width), ABSENT, dtype=np.int16)
    for row, (_, target) in enumerate(rows):
        targets[row, : len(target)] = target
    return np.array([source for source, _ in rows], dtype=np.int16), targets


def batches(groups: dict[int, Group], size: int, seed: int) -> Iterator[Batch]:
    """Endless batches; every epoch in another order."""
    shuffler = random.Random(seed)  # noqa: S311
    while True:
        epoch = []
        for length, (sources, _) in groups.items():
            order = list(range(len(sources)))
            shuffler.shuffle(order)
            epoch += [(length, order[k : k + size]) for k in range(0, len(order), size)]
        shuffler.shuffle(epoch)
        for length, picked in epoch:
            yield as_batch(groups[length], picked)


def as_batch(group: Group, picked: list[int]) -> Batch:
    sources, targets = (torch.from_numpy(array[picked].astype(np.int64)) for array in group)
    width = int((targets != ABSENT).sum(-1).max())
    fed = targets[:, : width - 1].clamp(min=0)  # what is fed past the end changes nothing before
    return Batch(sources, fed, targets[:, 1:width])
