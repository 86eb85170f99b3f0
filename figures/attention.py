"""One query, every cached key: scores, weights, and the mixture of values."""

from figures.base import Figure, Time, one_of_two


class AttentionRow(Figure):
    t = Time(doc="The decode step whose query is shown.")
    layer = one_of_two("Layer", "Which decoder layer is shown.")
    head = one_of_two("Head", "Which head is shown.")

    title = "One query reads the whole cache"
    description = (
        "The query of the newest word, the keys in the cache, a score and a weight for each, "
        "and the values weighted into the head's output."
    )
    sources = ("model.toy.network:Network._attend",)
