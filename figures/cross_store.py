"""Keys and values of the encoder's memory: made once, the same at every step."""

from figures.base import Figure, Time, one_of_two


class CrossStore(Figure):
    t = Time(doc="The decode step at which the store is looked at.")
    layer = one_of_two("Layer", "Which decoder layer's store is shown.")
    head = one_of_two("Head", "Which head's store is shown.")

    title = "The cross-attention store"
    description = (
        "One key and one value of four numbers for each source word, projected from the "
        "encoder's memory before the first step and unchanged afterwards."
    )
    sources = ("model.toy.network:Network.project_memory",)
