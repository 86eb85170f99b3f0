"""DeepSeek-V4.1-Flash: what each of its 40 layers does, and 890 bytes a token added up."""

from typing import Any

import param

from figures.base import Figure

TOKENS = 1_048_576  # the longest context it is offered with
BYTES_16_BIT = 2


class V4Layers(Figure):
    depth = param.Integer(
        default=26, bounds=(0, 39), label="Layer", doc="The layer whose reading is shown."
    )
    stage = param.Selector(
        default=3,
        objects={
            "unshared, 16 bits": 0,
            "four owners": 1,
            "FP4 rows": 2,
            "and index keys": 3,
        },
        label="Add up",
        doc="How far the sum is taken.",
    )

    title = "Forty layers, four stores"
    description = (
        "Forty cells, one a layer, marked by what the layer does; wires from the chosen one to "
        "the layer that owns its entries and the layer that chooses among them; then the bytes a "
        "token adds, step by step."
    )
    sources = (
        "model.attention.compressed.config:CompressedConfig.kind",
        "model.attention.compressed.config:CompressedConfig.bytes_per_token",
        "model.attention.compressed.config:CompressedConfig.kv_owner",
    )

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"depth": tuple(range(1, 41))}

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Kinds, owners and choosers of all layers; the four sums; bytes of a long context."""
        from model.attention.compressed.config import (  # noqa: PLC0415 -- loads torch
            FLASH,
            INDEX_ROW,
            MAIN_ROW,
            WINDOW_ROW,
        )

        main, index = MAIN_ROW.row_bytes(FLASH.d_head), INDEX_ROW.row_bytes(FLASH.d_index)
        entries = FLASH.entries_per_token
        total = FLASH.bytes_per_token(MAIN_ROW, INDEX_ROW)
        row = FLASH.d_head * BYTES_16_BIT
        return {
            "layers": [layer_of(FLASH, n) for n in range(FLASH.n_layers)],
            "owners": [{"layer": n, "ratio": FLASH.compress_ratios[n]} for n in FLASH.kv_sources],
            "entries": float(entries),
            "row": {"main": main, "index": index, "plain": row, "width": FLASH.d_head},
            "window": FLASH.window,
            "window_bytes": FLASH.window_bytes(WINDOW_ROW),
            "sums": [
                FLASH.n_layers * row,
                float(entries * row),
                float(entries * main),
                float(total),
            ],
            "tokens": TOKENS,
            "bytes": float(total * TOKENS),
        }


def layer_of(config: Any, layer: int) -> dict[str, Any]:
    """What a layer does, whose entries it reads, and which layer chose them."""
    kind = config.kind(layer)
    if kind == "window":
        return {"kind": kind, "owner": None, "chooser": None, "ratio": 0}
    return {
        "kind": kind,
        "owner": config.kv_owner(layer),
        "chooser": max(source for source in config.index_sources if source <= layer),
        "ratio": config.compress_ratios[layer],
    }
