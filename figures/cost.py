"""What the cache costs: measured for this run, computed for models people serve."""

from typing import Any

import param

from figures.base import Figure
from model.counts import numbers_per_token
from model.presets import SERVED, Preset

TOKENS = (128, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
BYTES_PER_NUMBER = 2


class Cost(Figure):
    tokens = param.Integer(
        default=4, bounds=(0, len(TOKENS) - 1), label="Tokens", doc="Context the models hold."
    )

    title = "What keeping costs"
    description = (
        "The bytes this run's caches hold, as measured, and bars for the caches of well-known "
        "models at a chosen context."
    )
    sources = ("model.counts:numbers_per_token",)

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Constants of the picture: contexts, and each model's numbers and bytes."""
        return {
            "tokens": TOKENS,
            "product": "2 layers × 2 heads × (4 + 4)",
            "models": [_model(preset) for preset in SERVED],
        }


def _model(preset: Preset) -> dict[str, Any]:
    heads, width = preset.n_kv_heads, preset.d_head
    numbers = numbers_per_token(preset.n_layers, heads, width, width)
    return {
        "name": preset.name,
        "numbers": numbers,
        "product": f"{preset.n_layers} layers × {heads} key-value heads × ({width} + {width})",
        "bytes": [numbers * BYTES_PER_NUMBER * n for n in TOKENS],
    }
