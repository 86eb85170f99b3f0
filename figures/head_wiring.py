"""Four query heads wired to the key-value heads they read, with the rows each of those keeps."""

from typing import Any

import param

from figures.base import Figure, one_of_two

N_HEADS = 4


class HeadWiring(Figure):
    kv_heads = param.Selector(
        default=4,
        objects={"4 (MHA)": 4, "2 (GQA)": 2, "1 (MQA)": 1},
        label="Key-value heads",
        doc="How many key-value heads the four query heads share.",
    )
    layer = one_of_two("Layer", "Which decoder layer's rows are shown.")
    tiled = param.Boolean(
        default=False,
        label="Wrong order",
        doc="Hand the key-value heads out in turn, as code for other weights would.",
    )

    title = "Query heads and the key-value heads they read"
    description = (
        "Four query heads on top, each with a wire to the key-value head it reads; under each "
        "key-value head, the keys and values kept for your sentence."
    )
    sources = ("model.attention.attend:share_heads", "model.toy.variants.tiled:TiledNetwork")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Which key-value head each query head reads, in the right order and dealt out in turn."""
        from model.attention.wiring import heads_dealt, heads_read  # noqa: PLC0415 -- loads torch
        from model.toy.variants.catalogue import VARIANTS  # noqa: PLC0415
        from model.toy.variants.run import GROUPED  # noqa: PLC0415

        groups = (4, 2, 1)
        reads = {n: heads_read(N_HEADS, n) for n in groups}
        dealt = {n: heads_dealt(N_HEADS, n) for n in groups}
        return {
            "reads": reads,
            "dealt": dealt,
            "numbers": {n: VARIANTS[GROUPED[n]].numbers_per_token for n in groups},
        }
