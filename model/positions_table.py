"""A query and a key at many places, here and further on: what `model.positions` finds, as data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from model.positions import code_products, record_shift
from model.rope import LAYOUTS, rotate
from model.toy.config import ToyConfig
from model.toy.network import sinusoids


def rotary_table(
    query: Float[np.ndarray, " d_head"],
    key: Float[np.ndarray, " d_head"],
    n_places: int,
    shifts: Sequence[int],
) -> dict[str, Any]:
    """By layout, then shift: scores of a query at the last place with the key at each place.

    stored: the key as it lies in a cache at each place, here and moved. gap: the largest
    change of any score of any pair of places.
    """
    q, k = torch.from_numpy(query.copy()), torch.from_numpy(key.copy())
    made = {}
    for name, layout in LAYOUTS.items():
        made[name] = {}
        for shift in shifts:
            found = record_shift(q, k, n_places=n_places, shift=shift, layout=layout)
            places = torch.arange(n_places) + shift
            keys = rotate(k.expand(1, n_places, -1), places, layout=layout)[0]
            made[name][str(shift)] = {
                "scores": found.moved[-1].tolist(),
                "stored": keys.tolist(),
                "gap": found.largest_change,
            }
    return made


def code_table(n_places: int, shifts: Sequence[int]) -> dict[str, Any]:
    """By shift: products of the toy's position code at the last place with each other one."""
    products = code_products(sinusoids(ToyConfig(), n_places + max(shifts)))
    here = products[:n_places, :n_places]
    made = {}
    for shift in shifts:
        moved = products[shift : shift + n_places, shift : shift + n_places]
        made[str(shift)] = {
            "products": moved[-1].tolist(),
            "gap": float(abs(moved - here).max()),
        }
    return made
