"""The reader's sentence, written by every trained variant."""

from typing import Any

import param

from figures.base import Figure

NAMES = {
    "MHA, 2 heads of 4": "mha",
    "MHA, 4 heads of 2": "four-heads",
    "MHA, window of 3": "window",
    "MQA, 2 heads of 4": "mqa",
    "GQA, 4 heads of 2 on 2": "four-heads-gqa",
    "MLA, latent 6 + rope key 2": "mla",
    "CLA, layer 2 reads layer 1": "cla",
    "MQA, 4 heads of 2 on 1": "four-heads-mqa",
}


class VariantWords(Figure):
    sort = param.Selector(
        default="kept",
        objects={"numbers kept": "kept", "accuracy": "accuracy"},
        label="Order by",
        doc="In which order the variants are listed.",
    )

    title = "Your sentence, by every variant"
    description = (
        "One row a variant: the words it writes for your sentence, those that differ from the "
        "plain variant's marked, and the bytes it keeps."
    )
    sources = ("model.toy.variants.run:written_by_all", "model.toy.variants.run:changes")

    @classmethod
    def data(cls) -> dict[str, Any]:
        return {"variants": listed()}


def listed() -> list[dict[str, Any]]:
    """Every variant with what it keeps and how right its seeds are, most kept first."""
    from model.toy.variants.catalogue import VARIANTS  # noqa: PLC0415 -- loads torch
    from model.toy.variants.results import result  # noqa: PLC0415

    told = [
        {
            "name": name,
            "label": variant.label,
            "short": variant.short,
            "says": variant.says,
            "numbers": variant.numbers_per_token,
            "most_words": variant.most_words,
            "grammar": result(name).grammar,
            "unknown": result(name).unknown,
            "median": result(name).median,
            "spread": result(name).spread,
            "seeds": result(name).seeds,
            "kept_seed": result(name).kept_seed,
            "sentences": result(name).sentences,
            "steps": result(name).steps,
        }
        for name, variant in VARIANTS.items()
    ]
    return sorted(told, key=lambda one: -one["numbers"])
