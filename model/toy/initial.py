"""Where training starts: how large the first weights are."""

import math
from collections.abc import Callable

from model.toy.parameters import Shapes

Bound = Callable[[str, Shapes], float]  # first weights are uniform within plus or minus this


def glorot(name: str, shapes: Shapes) -> float:
    """Glorot and Bengio 2010 for every matrix as it is stored; biases start at zero."""
    shape = shapes[name]
    return math.sqrt(6 / sum(shape)) if len(shape) > 1 else 0.0


def by_projection(name: str, shapes: Shapes) -> float:
    """Glorot for each projection of attention on its own, PyTorch's own bound for the rest."""
    is_bias = len(shapes[name]) == 1
    if is_bias or "widen" in name or "narrow" in name:
        return shapes[name.removesuffix("_bias")][0] ** -0.5
    d_model = shapes["english"][1]
    return math.sqrt(6 / (2 * d_model))
