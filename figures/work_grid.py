"""The triangle of positions a decoder computes, and the diagonal a cache leaves of it."""

import param

from figures.base import Figure, Time


class WorkGrid(Figure):
    t = Time(doc="The decode step up to which the grid is filled.")
    cached = param.Boolean(default=False, label="Cache", doc="Keep keys and values between steps.")

    title = "Positions the decoder computes"
    description = (
        "A grid with one row a decode step and one cell a position. Without a cache each row is "
        "computed from its start, so a triangle fills; with one, only its last cell is."
    )
    sources = ("model.toy.decode:decode_naive", "model.toy.decode:decode_cached")
