"""Tokens that stand in the wrong place: the cache knows how long it is, somebody else does not."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model.attention.heads import Attention, Parts
from model.bugs.bench_decoder import with_attention, with_part
from model.bugs.bench_padded import padded_row
from model.bugs.bench_toy import on_toy
from model.bugs.bug import Bug
from model.config import DecoderConfig
from model.storage.base import Storage

LAWS = "tests/test_cache_laws.py::"
SPLITS = f"{LAWS}test_every_split_of_a_prompt_gives_the_logits_of_a_full_pass"


def one_further(store: Storage | None, new: int) -> Int[Tensor, " new"]:
    """Count the prompt, and once more the token that followed it."""
    start = 0 if store is None or store.length == 0 else store.length + 1
    return torch.arange(start, start + new)


class OffsetMovedByTheFirstLayer(Attention):
    """All layers share one offset, and the first of them has already moved it."""

    def __init__(
        self, config: DecoderConfig, layer: int, parts: Parts, generator: torch.Generator
    ) -> None:
        turn = parts.rotate
        late = replace(parts, rotate=lambda x, at, base: turn(x, at + x.shape[-2], base))
        super().__init__(config, layer, parts if layer == 0 else late, generator)


def padded_length(real: Bool[Tensor, " tokens"]) -> int:
    """Place the next token behind the row as it lies in memory, padding included."""
    return len(real)


BUGS = {
    "position-zero": Bug(
        id="position-zero",
        title="Every decoded word stands first",
        story=(
            "With a cache the decoder is called with a single word, and code that numbers the "
            "words of a call gives it position 0, every time. The first word is right, because "
            "it does stand first. From then on the model believes that each new word opens the "
            "sentence."
        ),
        source="ml-explore/mlx-lm#93",
        step="the-cache-step-by-step#one-step",
        fix="Count on from the length of the cache.",
        right="model.toy.decode:following",
        twin="model.toy.decode:always_first",
        seam="places",
        bench=on_toy("places"),
        caught_by="tests/test_toy_laws.py::test_a_cached_run_writes_what_a_full_one_writes",
    ),
    "position-plus-one": Bug(
        id="position-plus-one",
        title="The prompt's length, counted once too often",
        story=(
            "Does the length include the token that is about to be fed? Where two parts of a "
            "program answer differently, every decoded token stands one place too far. The "
            "prompt itself is right, and so is the distance between decoded tokens; only the "
            "distance to the prompt is off by one."
        ),
        source="skyzh/tiny-llm#46",
        step="the-cache-step-by-step#one-step",
        fix="Let the store own the length, and let everybody ask it.",
        right="model.attention.heads:next_positions",
        twin="model.bugs.positions:one_further",
        seam="positions",
        bench=with_part("positions"),
        caught_by=SPLITS,
    ),
    "shared-offset": Bug(
        id="shared-offset",
        title="The first layer moves the counter",
        story=(
            "One offset serves all layers, and the store of the first layer advances it as soon "
            "as it has appended. The layers above then turn their queries and keys as if the "
            "new tokens stood one pass later. A model of one layer can never show it."
        ),
        source="ml-explore/mlx-lm#1396",
        step="the-cache-step-by-step#append",
        fix="Take the offset before any layer runs, or let each layer's store count for itself.",
        right="model.attention.heads:Attention",
        twin="model.bugs.positions:OffsetMovedByTheFirstLayer",
        method="__init__",
        seam="attention",
        bench=with_attention(lambda _cache: ()),
        caught_by=SPLITS,
    ),
    "left-padding": Bug(
        id="left-padding",
        title="Padding counted as text",
        story=(
            "To run prompts of different lengths as one batch, the shorter ones are padded on "
            "the left. The prompt's positions are counted without the padding, but decoding goes "
            "on at the width of the batch. A whole row shifted by the same number would do no "
            "harm with RoPE; what hurts is that prompt and answer disagree."
        ),
        source="huggingface/transformers#22161",
        step="the-cache-step-by-step#prefill",
        fix="Let every row count its own tokens, in the prompt and after it.",
        right="model.padding:next_place",
        twin="model.bugs.positions:padded_length",
        seam="next_place",
        bench=padded_row,
        caught_by=f"{LAWS}test_a_padded_row_equals_the_row_alone",
    ),
}
