"""Rotary positions at decode speed: angles made once, queries and keys turned together."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.engine.config import EngineConfig
from model.errors import BadInput
from model.rope import frequencies

Heads = Float[Tensor, "batch heads new d_head"]
RowHeads = Float[np.ndarray, "any_heads d_head"]


@dataclass(frozen=True, kw_only=True)
class Angles:
    """Where rows stand, as factors: of a channel, and of its partner half a head away."""

    cos: Float[Tensor, "#batch 1 new d_head"]
    signed_sin: Float[Tensor, "#batch 1 new d_head"]

    def turn(self, x: Heads) -> Heads:
        """Turn every channel pair (i, i + d_head/2) by its angle.

        Channel i becomes x_i cos - x_partner sin, its partner x_partner cos + x_i sin: rolling
        by half a head brings each its partner, the sign sits in the sine.
        """
        partner = x.roll(x.shape[-1] // 2, -1)
        return torch.addcmul(x * self.cos, partner, self.signed_sin)

    def turn_row(self, x: RowHeads) -> RowHeads:
        """The same for the heads of one token at one position, in NumPy."""
        half = x.shape[-1] // 2
        partner = np.concatenate([x[:, half:], x[:, :half]], axis=-1)
        cos, signed_sin = self.cos.numpy().reshape(-1), self.signed_sin.numpy().reshape(-1)
        return x * cos + partner * signed_sin


class RotaryTable:
    """The angles of every position up to a context, from float64 rates."""

    def __init__(
        self, config: EngineConfig, n_positions: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        rates = frequencies(config.d_head, config.rope_base)
        if config.rope_divisors:
            rates = rates / torch.tensor(config.rope_divisors, dtype=torch.float64)
        angles = torch.outer(torch.arange(n_positions, dtype=torch.float64), rates)
        cos, sin = angles.cos(), angles.sin()
        self.n_positions = n_positions
        self.cos = torch.cat([cos, cos], dim=-1).to(device=device, dtype=dtype)
        self.signed_sin = torch.cat([-sin, sin], dim=-1).to(device=device, dtype=dtype)

    def span(self, start: int, new: int) -> Angles:
        """Return the angles of neighbouring positions, the same for every row of a batch."""
        if start + new > self.n_positions:
            message = (
                f"position {start + new - 1} is past the model's context of {self.n_positions} "
                f"tokens: shorten the prompt, write less, or keep a window with sinks"
            )
            raise BadInput(message)
        return Angles(
            cos=self.cos[None, None, start : start + new],
            signed_sin=self.signed_sin[None, None, start : start + new],
        )

    def at(self, positions: Int[Tensor, "batch new"]) -> Angles:
        """Return the angles of any positions (rows of a batch that start at different places)."""
        return Angles(
            cos=self.cos[positions].unsqueeze(1), signed_sin=self.signed_sin[positions].unsqueeze(1)
        )
