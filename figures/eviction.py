"""Dropping keys that got little attention: what two rules keep of the reader's sentence."""

import param

from figures.base import Figure, one_of_two

BUDGETS = (3, 4, 5, 6, 7, 8)


class Eviction(Figure):
    rule = param.Selector(
        default="h2o",
        objects={"H2O: heavy hitters": "h2o", "SnapKV: seen by the end": "snapkv"},
        label="Rule",
        doc="Whose attention decides: that of all queries, or of the last ones.",
    )
    budget = param.Integer(
        default=2, bounds=(0, len(BUDGETS) - 1), label="Rows kept", doc="The most a head keeps."
    )
    layer = one_of_two("Layer", "Whose attention is looked at.")
    head = one_of_two("Head", "Whose attention is looked at.")

    title = "Keep what was looked at"
    description = (
        "One row a word: the weight its key received, whether the rule keeps it, and the weight "
        "the last query gives it. Dropped keys are faint."
    )
    sources = (
        "model.serving.eviction:heavy_hitters",
        "model.serving.eviction:observed_by_the_end",
    )

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"budget": BUDGETS}
