"""Masks drawn by counting rows and columns, or not drawn at all."""

import torch
from jaxtyping import Bool
from torch import Tensor

from model import masks
from model.bugs.bench_decoder import WINDOWED, with_part
from model.bugs.bench_toy import on_toy
from model.bugs.bug import Bug
from model.config import DecoderConfig

LAWS = "tests/test_cache_laws.py::"


def top_left(new: int, seen: int) -> Bool[Tensor, "new seen"]:
    """Let row r read columns 0 to r, wherever the rows stand: `is_causal=True` in PyTorch."""
    return torch.ones(new, seen, dtype=torch.bool).tril()


def none_with_a_cache(_config: DecoderConfig, _layer: int) -> masks.Predicate:
    """Skip the mask: with a cache there is only ever one new token, one thinks."""
    return masks.full


def window_and_one(config: DecoderConfig, layer: int) -> masks.Predicate:
    """Read `window` keys *besides* the query's own."""
    width = config.window_of(layer)
    return masks.causal if width is None else masks.window(width + 1)


BUGS = {
    "top-left-mask": Bug(
        id="top-left-mask",
        title="The mask hangs from the wrong corner",
        story=(
            "A causal mask is usually drawn as a triangle that starts in the top left corner. "
            "With a cache there are fewer queries than keys, and that triangle gives the newest "
            "query the oldest key alone. PyTorch's is_causal=True means this corner, "
            "FlashAttention moved to the other one in 2.1. The prompt, a square, comes out right."
        ),
        source="pytorch/pytorch#103082",
        step="the-cache-step-by-step#read-all",
        fix="Say it by positions: a key may be read if it is not later than the query.",
        right="model.toy.masks:causal",
        twin="model.bugs.masks:top_left",
        seam="mask",
        bench=on_toy("mask"),
        caught_by="tests/test_toy_laws.py::test_a_cached_run_writes_what_a_full_one_writes",
    ),
    "mask-skipped": Bug(
        id="mask-skipped",
        title="No mask as soon as there is a cache",
        story=(
            "One new token may read everything, so the mask is dropped wherever a cache is "
            "passed in. But a prompt, a second turn or a batch of drafts brings many new tokens "
            "with a cache, and each of them then reads its own future. Fed token by token the "
            "bug cannot be seen at all. The damage stays: upper layers keep keys and values "
            "made from leaked rows."
        ),
        source="jingyaogong/minimind#631",
        step="the-cache-step-by-step#read-all",
        fix="Drop the mask only where one single token is new.",
        right="model.attention.heads:mask_of_layer",
        twin="model.bugs.masks:none_with_a_cache",
        seam="mask",
        bench=with_part("mask"),
        caught_by=f"{LAWS}test_every_split_of_a_prompt_gives_the_logits_of_a_full_pass",
    ),
    "window-plus-one": Bug(
        id="window-plus-one",
        title="Is the window W keys, or W + 1?",
        story=(
            "Mistral and transformers count the query's own position in the window, "
            "FlashAttention's window_size counts the keys before it. Where a mask means one and "
            "the ring buffer the other, every query reads one key too many or too few. Texts "
            "shorter than the window never show it."
        ),
        source="huggingface/transformers#39408",
        step="which-keys-a-query-may-read#sliding-window",
        fix="State the window as keys visible including the own one, and test the count.",
        right="model.attention.heads:mask_of_layer",
        twin="model.bugs.masks:window_and_one",
        seam="mask",
        bench=with_part("mask", WINDOWED),
        caught_by=f"{LAWS}test_a_window_reads_exactly_its_width_the_own_key_included",
    ),
}
