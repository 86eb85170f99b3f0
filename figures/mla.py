"""MLA's cache of the run, read the naive way and absorbed."""

from typing import Any

import param

from figures.base import Figure, one_of_two


class Mla(Figure):
    absorbed = param.Boolean(
        default=False,
        label="Absorbed",
        doc="Take the query to the latents instead of the latents to keys.",
    )
    layer = one_of_two("Layer", "Which decoder layer's cache is shown.")
    head = one_of_two("Head", "Which head reads it.")

    title = "One latent for all heads"
    description = (
        "A row a word: its latent and its rotary key, which is all that is kept. Beside it the "
        "keys one head expands from them, or the query that reads the latents themselves, and "
        "the scores."
    )
    sources = (
        "model.toy.variants.latent:LatentNetwork._read",
        "model.toy.variants.latent:AbsorbedNetwork._read",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        from model.toy.variants.catalogue import VARIANTS  # noqa: PLC0415 -- loads torch
        from model.toy.variants.latent import D_LATENT, D_ROPE  # noqa: PLC0415

        return {
            "d_latent": D_LATENT,
            "d_rope": D_ROPE,
            "numbers": VARIANTS["mla"].numbers_per_token,
            "plain": VARIANTS["mha"].numbers_per_token,
        }
