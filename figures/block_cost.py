"""What one block multiplies: the part every token pays, and the part that grows with the text."""

from functools import cache
from typing import Any

import param

from figures.base import Figure
from model.layer_work import LayerWork
from model.work import dense_layer

TOKENS = (128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768)
# Width, query heads, key-value heads, width of a head, feed-forward width, its matrices.
SIZES = {
    "2017, d = 512": (512, 8, 8, 64, 2_048, 2),
    "2017, d = 4,096": (4_096, 64, 64, 64, 16_384, 2),
    "Llama 3 8B": (4_096, 32, 8, 128, 14_336, 3),
    "Llama 3 70B": (8_192, 64, 8, 128, 28_672, 3),
}
NAMES = ("d_model", "heads", "kv_heads", "d_head", "d_ff", "feed_forward_matrices")


class BlockCost(Figure):
    block = param.Selector(
        default="2017, d = 4,096",
        objects={name: name for name in SIZES},
        label="Block",
        doc="Whose sizes are put into the formula.",
    )
    tokens = param.Integer(
        default=4, bounds=(0, len(TOKENS) - 1), label="Tokens", doc="Keys read; prompt length."
    )

    title = "Counting one block"
    description = (
        "Bars for the FLOPs of the matrices and of attention, for one decode step and for the "
        "prefill of the same text, with the formula and the numbers in it."
    )
    sources = ("model.work:dense_layer", "model.layer_work:LayerWork.prefill_flops")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Counts of each block at each length."""
        return counted()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}


def block_of(name: str) -> LayerWork:
    return dense_layer(**dict(zip(NAMES, SIZES[name], strict=True)))


@cache
def counted() -> dict[str, Any]:
    return {"tokens": TOKENS, "blocks": {name: _counts(name) for name in SIZES}}


def _counts(name: str) -> dict[str, Any]:
    block = block_of(name)
    sums = _sums_of_steps(block)
    return {
        **dict(zip(NAMES, SIZES[name], strict=True)),
        "matrices": 2 * block.weights_used,
        "per_key": block.attention_flops(1),
        "equal_at": 2 * block.weights_used / block.attention_flops(1),
        "attention": [block.attention_flops(n) for n in TOKENS],
        "decode": [block.decode_flops(n) for n in TOKENS],
        "prefill_matrices": [2 * block.weights_used * n for n in TOKENS],
        "prefill_attention": [block.attention_flops(block.causal_keys(n)) for n in TOKENS],
        "prefill": [block.prefill_flops(n) for n in TOKENS],
        "steps": sums,
    }


def _sums_of_steps(block: LayerWork) -> list[int]:
    """Add up a decode step for each token, as far as each of TOKENS."""
    total, sums = 0, []
    for n in range(1, TOKENS[-1] + 1):
        total += block.decode_flops(n)
        if n in TOKENS:
            sums.append(total)
    return sums
