"""What one decode step feeds in, and the query, key and value it makes."""

import param

from figures.base import Figure, Time, one_of_two


class OneStep(Figure):
    t = Time(doc="The decode step.")
    layer = one_of_two("Layer", "Which decoder layer's projections are shown.")
    head = one_of_two("Head", "Which head's query, key and value are shown.")
    zero = param.Boolean(
        default=False, label="First place", doc="Pretend every fed word stands at the first place."
    )

    title = "One decode step"
    description = (
        "The embedding of the fed word plus the code of its place gives a row of eight numbers; "
        "one head makes of it a query, a key and a value of four numbers each."
    )
    sources = ("model.toy.network:sinusoids", "model.toy.network:Network._decoder_layer")
