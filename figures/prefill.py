"""One prompt, cut in different ways; one set of keys and values."""

import param

from figures.base import Figure, one_of_two

CUTS = {"one pass": 0, "chunks of 3": 1, "word by word": 2}


class Prefill(Figure):
    split = param.Selector(
        default=0, objects=CUTS, label="Fed in", doc="How the prompt is cut into passes."
    )
    layer = one_of_two("Layer", "Which decoder layer's rows are shown.")
    head = one_of_two("Head", "Which head's rows are shown.")

    title = "The same rows, however the prompt is cut"
    description = (
        "The prompt's keys and values beside the passes that made them: in one pass, in chunks "
        "of three, or word by word."
    )
    sources = ("model.toy.decode:prefill",)
