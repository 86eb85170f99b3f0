"""Keys at one step beside the keys at the next, to see whether the earlier rows move."""

import param

from figures.base import Figure, Time, one_of_two


class RowsMove(Figure):
    t = Time(doc="The earlier of the two steps compared.")
    layer = one_of_two("Layer", "Which decoder layer's keys are shown.")
    head = one_of_two("Head", "Which head's keys are shown.")
    bidirectional = param.Boolean(
        default=False, label="Bidirectional", doc="Let every position read later ones too."
    )

    title = "Keys, one step apart"
    description = (
        "Two blocks of keys, as computed at a step and at the next one, row by row, with the "
        "largest movement of each row between them."
    )
    sources = ("model.toy.masks:causal", "model.toy.masks:bidirectional")
