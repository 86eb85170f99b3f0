"""Cached and uncached, word by word: the same words, the same logits."""

import param

from figures.base import Figure, Time


class Proof(Figure):
    t = Time(doc="The decode step up to which the runs are compared.")
    arithmetic = param.Selector(
        default="fixed",
        objects={"fixed": "fixed", "left to a library": "blas"},
        label="Order of sums",
        doc="Whether every sum has one order, or a matrix library chooses by shape.",
    )

    title = "Both runs, side by side"
    description = (
        "For each word written: its probability with the cache and without, and the largest "
        "difference between the two over all logits."
    )
    sources = ("model.toy.arithmetic:FixedOrder", "model.toy.arithmetic:Blas")
