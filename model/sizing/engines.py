"""What really is allocated: the ideal, and what engines make of the same layers.

An engine says which form of a layer's rows it keeps, how many of them, and how it stores states.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from model.sizing.layers import Layer, Rows, State


def up_to(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


@dataclass(frozen=True, kw_only=True)
class Run:
    """What an engine is asked to hold: lengths, sequences, a block size.

    `prefill_batch` is how many tokens it reads at once, where not its own default.
    """

    n_tokens: int
    n_sequences: int = 1
    encoder_tokens: int = 0
    block: int = 1
    prefill_batch: int | None = None

    def seen(self, rows: Rows) -> int:
        return self.encoder_tokens if rows.side == "encoder" else self.n_tokens


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Rows in one buffer, and how many such buffers."""

    rows: int
    buffers: int


BytesOf = Callable[[Rows, int], int]
"""Bytes of so many rows in the chosen format."""


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """Bytes per layer, split into what grows and what is fixed, and padding beside them."""

    growing: tuple[int, ...]
    fixed: tuple[int, ...]
    padding: int = 0

    @property
    def total(self) -> int:
        return sum(self.growing) + sum(self.fixed) + self.padding


@runtime_checkable
class Engine(Protocol):
    """How one engine keeps a model's layers."""

    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers in the form this engine keeps them."""
        ...

    def cells(self, rows: Rows, run: Run) -> Cells: ...
    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        """Numbers kept, and bytes each."""
        ...

    def allocate(
        self, layers: Sequence[Layer], run: Run, bytes_of: BytesOf, model_bytes: int
    ) -> Allocation: ...


class PerLayer(ABC):
    """Every layer on its own: its rows times their bytes, and its states."""

    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        return list(layers)

    @abstractmethod
    def cells(self, rows: Rows, run: Run) -> Cells:
        """Rows in one buffer of this engine for a layer's rows, and how many buffers."""

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        return state.numbers, 4 if state.stored_as == "float32" else model_bytes

    def state_bytes(self, layer: Layer, run: Run, model_bytes: int) -> int:
        kept = [self.state(s, model_bytes) for s in layer.states]
        return sum(numbers * each for numbers, each in kept) * run.n_sequences

    def row_bytes(self, rows: Rows, run: Run, bytes_of: BytesOf) -> int:
        cells = self.cells(rows, run)
        return bytes_of(rows, cells.rows) * cells.buffers

    def allocate(
        self, layers: Sequence[Layer], run: Run, bytes_of: BytesOf, model_bytes: int
    ) -> Allocation:
        return Allocation(
            growing=tuple(
                sum(self.row_bytes(r, run, bytes_of) for r in layer.rows) for layer in layers
            ),
            fixed=tuple(
                sum(self.row_bytes(r, run, bytes_of) for r in layer.cross_rows)
                + self.state_bytes(layer, run, model_bytes)
                for layer in layers
            ),
        )


@dataclass(frozen=True)
class Ideal(PerLayer):
    """What the architecture needs: each layer's rows, a window's newest, rounded to blocks."""

    name: str = "ideal"
    note: str = "what the architecture needs: min(T, window) rows a layer"

    def cells(self, rows: Rows, run: Run) -> Cells:
        return Cells(rows=up_to(rows.kept(run.seen(rows)), run.block), buffers=run.n_sequences)


@dataclass(frozen=True)
class Transformers(PerLayer):
    """transformers 5's DynamicCache between steps: a window keeps one row less than it reads."""

    name: str = "transformers"
    note: str = "DynamicCache(config=...) of transformers 5 between steps: windows keep W-1 rows"

    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        return [replace(layer, holds=tuple(map(self.form, layer.holds))) for layer in layers]

    def form(self, held: Rows | State) -> Rows | State:
        if isinstance(held, Rows) and held.in_transformers is not None:
            return held.in_transformers
        return held

    def cells(self, rows: Rows, run: Run) -> Cells:
        kept = run.seen(rows)
        if rows.window is not None:
            kept = min(kept, rows.window - 1)
        return Cells(rows=kept // rows.every, buffers=run.n_sequences)


@dataclass(frozen=True)
class OldTransformers(Transformers):
    """transformers 4: a latent is expanded to a key and a value for every head."""

    name: str = "transformers-4"
    note: str = "transformers 4: latents are kept expanded, a key and a value for every head"

    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        return [
            replace(layer, holds=layer.expanded) if layer.expanded else layer
            for layer in super().layers(layers)
        ]


@dataclass(frozen=True)
class LlamaCpp(PerLayer):
    """llama.cpp: all cells at the start, in multiples of 256; a window plus one micro-batch.

    The sequences share one unified buffer (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp).
    """

    name: str = "llama.cpp"
    note: str = "cells for n_ctx at the start, padded to 256; a window holds W plus a micro-batch"
    pad: int = 256
    micro_batch: int = 512

    def cells(self, rows: Rows, run: Run) -> Cells:
        context = up_to(run.seen(rows) * run.n_sequences, self.pad)
        if rows.window is not None:
            wanted = rows.window * run.n_sequences + (run.prefill_batch or self.micro_batch)
            context = min(context, up_to(wanted, self.pad))
        return Cells(rows=context // rows.every, buffers=1)

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        del model_bytes  # both the tail and the state are in 32 bits
        return state.numbers_without_newest, 4
