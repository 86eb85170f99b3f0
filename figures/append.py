"""The cache of one layer and head, filling row by row."""

from figures.base import Figure, Time, one_of_two


class Append(Figure):
    t = Time(doc="The decode step after which the cache is shown.")
    layer = one_of_two("Layer", "Which decoder layer's cache is shown.")
    head = one_of_two("Head", "Which head's cache is shown.")

    title = "The self-attention cache"
    description = (
        "Two columns of rows, keys and values. Each decode step adds one row at the bottom; the "
        "rows above keep their numbers."
    )
    sources = ("model.toy.cache:Cache",)
