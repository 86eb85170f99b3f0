"""What fewer key-value heads save, and what they do not: counted, not argued."""

from typing import Any

import param

from figures.base import Figure

TOKENS = (128, 512, 2_048, 8_192, 32_768, 131_072)
KV_HEADS = (32, 8, 1)
BYTES_PER_NUMBER = 2
LAYERS = 32


class GroupingWork(Figure):
    model = param.Selector(
        default="run",
        objects={"your sentence": "run", "Llama 3 8B's shape": "served"},
        label="Counted for",
        doc="The toy on your sentence, or a served model's shape.",
    )
    tokens = param.Integer(
        default=3, bounds=(0, len(TOKENS) - 1), label="Context", doc="Tokens seen (served shape)."
    )

    title = "Storage against arithmetic"
    description = (
        "For three numbers of key-value heads, bars for the bytes kept, the bytes a decode step "
        "reads, the scores computed and all arithmetic."
    )
    sources = ("model.work:dense_layer", "model.layer_work:LayerWork.attention_flops")

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Counts of one decode step of a served shape, for each context and head count."""
        from model.work import dense_layer  # noqa: PLC0415

        def layer(kv_heads: int) -> Any:
            return dense_layer(
                d_model=4096,
                heads=32,
                kv_heads=kv_heads,
                d_head=128,
                d_ff=14_336,
                feed_forward_matrices=3,
            )

        def counted(kv_heads: int, seen: int) -> dict[str, int]:
            one = layer(kv_heads)
            kept = LAYERS * one.row * seen * BYTES_PER_NUMBER
            return {
                "kept": kept,
                "read": kept,
                "scores": LAYERS * one.attention_flops(seen),
                "all": LAYERS * one.decode_flops(seen),
            }

        served = [[counted(n, seen) for n in KV_HEADS] for seen in TOKENS]
        return {"tokens": TOKENS, "kv_heads": KV_HEADS, "served": served}
