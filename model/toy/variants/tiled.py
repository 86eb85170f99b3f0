"""A mistake people make with loaded weights: key/value heads handed out in the wrong order."""

import torch
from torch import Tensor

from model.toy.network import Attended, Network


class TiledNetwork(Network):
    """Query heads 0 1 2 3 read key/value heads 0 1 0 1, where training had 0 0 1 1."""

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, out: Tensor, mask: Tensor | None = None
    ) -> Attended:
        copies = q.shape[-3] // k.shape[-3]
        keys, values = (torch.cat([rows] * copies, dim=-3) for rows in (k, v))
        return super()._attend(q, keys, values, out, mask)
