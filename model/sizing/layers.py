"""A model's cache is a list of layers; every total is a sum over it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Role = Literal["key", "value", "index"]
Side = Literal["decoder", "encoder"]
StateFormat = Literal["float32", "model"]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What a layer keeps per token: a row of `heads` x `width` numbers every `every` tokens.

    `window` caps the tokens kept; `side` says whose tokens are counted; `native` names the
    format the model itself stores; `replicated` rows are whole on every tensor-parallel rank;
    `in_transformers` is what that library keeps where it differs.
    """

    name: str
    role: Role
    width: int
    heads: int = 1
    every: int = 1
    window: int | None = None
    side: Side = "decoder"
    native: str | None = None
    replicated: bool = False
    in_transformers: "Rows | None" = None

    @property
    def numbers(self) -> int:
        """Numbers in one row."""
        return self.heads * self.width

    @property
    def numbers_per_token(self) -> Fraction:
        return Fraction(self.numbers, self.every)

    def kept(self, n_tokens: int) -> int:
        """Rows held once `n_tokens` tokens were seen."""
        seen = n_tokens if self.window is None else min(n_tokens, self.window)
        return seen // self.every


@dataclass(frozen=True, kw_only=True)
class State:
    """What a layer keeps per sequence, however long: a recurrent state or a convolution's tail.

    `numbers` counts the whole convolution kernel, as transformers keeps it; engines that keep
    one step fewer hold `numbers_without_newest`.
    """

    name: str
    numbers: int
    numbers_without_newest: int
    stored_as: StateFormat


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer: whose cache it reads (`owner`), and what it holds itself.

    A layer that reuses another's cache has that layer's index as owner and holds nothing.
    `expanded` is the per-head form of a latent, which some engines store instead.
    """

    index: int
    kind: str
    owner: int
    holds: tuple[Rows | State, ...] = ()
    query_heads: int | None = None
    expanded: tuple[Rows, ...] = ()

    @property
    def rows(self) -> tuple[Rows, ...]:
        """The rows that grow with the text written (or read, by a decoder alone)."""
        return tuple(r for r in self.holds if isinstance(r, Rows) and r.side == "decoder")

    @property
    def cross_rows(self) -> tuple[Rows, ...]:
        return tuple(r for r in self.holds if isinstance(r, Rows) and r.side == "encoder")

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(s for s in self.holds if isinstance(s, State))

    @property
    def numbers_per_token(self) -> Fraction:
        """Numbers a new token adds while nothing is dropped yet."""
        return sum((r.numbers_per_token for r in self.rows), Fraction(0))

    @property
    def window(self) -> int | None:
        """The most tokens any of its rows keeps, or None when one of them keeps all."""
        windows = [r.window for r in self.rows]
        if not windows or None in windows:
            return None
        return max(w for w in windows if w is not None)


@dataclass(frozen=True, kw_only=True)
class Model:
    """What the calculator knows of one model: its layers, its weights, and what was assumed."""

    name: str
    model_type: str
    layers: tuple[Layer, ...]
    parameters: int | None
    max_tokens: int | None = None
    encoder_tokens: int | None = None
    weights_stored_as: str | None = None
    stored_weight_bytes: int | None = None
    source: str = ""
    assumed: tuple[str, ...] = field(default=())
    warnings: tuple[str, ...] = field(default=())

    @property
    def has_encoder(self) -> bool:
        return any(layer.cross_rows for layer in self.layers)


def alike(layers: Sequence[Layer]) -> list[list[Layer]]:
    """The layers in groups that hold the same: what is true of one is true of its group."""
    groups: dict[tuple[Rows | State, ...], list[Layer]] = {}
    for layer in layers:
        groups.setdefault(layer.holds, []).append(layer)
    return list(groups.values())


def owners(layers: Sequence[Layer]) -> list[Layer]:
    """The layers that hold something of their own."""
    return [layer for layer in layers if layer.holds]
