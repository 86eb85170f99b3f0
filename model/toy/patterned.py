"""The toy reading its own words under other patterns: which words change.

The toy was trained under the causal mask, so this shows what it leans on, not what a model
trained under the pattern would do.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from model import masks
from model.masks import Predicate
from model.toy import decode
from model.toy.arithmetic import FixedOrder
from model.toy.network import Network
from model.toy.record import shipped, source_of, understand
from model.toy.vocabulary import vocabularies

ToyMask = Callable[[int, int], Bool[Tensor, "new seen"]]

READ = {
    "causal": masks.causal,
    "window 4": masks.window(4),
    "window 2": masks.window(2),
    "window 1": masks.window(1),
    "window 2, 1 sink": masks.window_with_sinks(2, 1),
    "prefix 3": masks.prefix(3),
    "strided 3": masks.strided(3),
    "fixed 3": masks.fixed(3, 1),
    "dilated 2, gap 2": masks.dilated(2, 2),
    "full": masks.full,
}


@dataclass(frozen=True)
class Patterned:
    """What the toy wrote under one pattern."""

    pattern: str
    words: tuple[str, ...]


def as_toy_mask(may_read: Predicate) -> ToyMask:
    """A pattern as the toy's decoder takes masks: the last ``new`` of ``seen`` places ask."""

    def mask(new: int, seen: int) -> Bool[Tensor, "new seen"]:
        return masks.square(may_read, seen)[seen - new :]

    return mask


def read_under_patterns(text: str) -> tuple[Patterned, ...]:
    """Write a text's translation under each pattern, computing everything at every step."""
    config, parameters = shipped()
    reading = understand(text, config)
    french = vocabularies(config).french.words
    written = []
    with torch.inference_mode():
        for name, may_read in READ.items():
            model = Network(config, parameters, FixedOrder())
            _, source = source_of(model, reading)
            steps = decode.decode_naive(model, source, mask=as_toy_mask(may_read))
            written.append(Patterned(name, tuple(french[step.word] for step in steps)))
    return tuple(written)
