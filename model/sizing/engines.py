"""What really is allocated: the ideal, and what engines make of the same layers.

An engine says which form of a layer's rows it keeps, how many of them, in which formats, and how
it stores states.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from model.errors import BadInput
from model.sizing.formats import FORMATS, Format, format_named
from model.sizing.layers import Layer, Rows, State
from model.sizing.pages import up_to
from model.sizing.terms import Allocation, PiecesOf, Term, Terms, terms_of


class NotInEngine(BadInput):
    """What was asked exists, but not in this engine; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What an engine is asked to hold: lengths, sequences, a block size.

    `n_sources` texts are read by an encoder, however many beams write about each;
    `shared_prefix` tokens begin every sequence; `prefill_batch` is how many tokens are read at
    once, where not the engine's own default.
    """

    n_tokens: int
    n_sequences: int = 1
    n_sources: int = 1
    encoder_tokens: int = 0
    shared_prefix: int = 0
    block: int = 1
    prefill_batch: int | None = None

    def seen(self, rows: Rows) -> int:
        return self.encoder_tokens if rows.side == "encoder" else self.n_tokens

    @property
    def n_copies(self) -> int:
        """Sequences that need not keep a shared prefix once more."""
        return self.n_sequences - 1 if self.shared_prefix else 0


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Rows in one buffer, and how many such buffers."""

    rows: int
    buffers: int


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

    def stored(self, rows: Rows, asked: Format | None) -> Format:
        """The format these rows are kept in; `asked` is None where that is left open.

        Raises NotInEngine when the engine has no such format.
        """
        ...

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        """Numbers kept, and bytes each."""
        ...

    def allocate(
        self, layers: Sequence[Layer], run: Run, pieces_of: PiecesOf, model_bytes: int
    ) -> Allocation: ...


class PerLayer(ABC):
    """Every layer on its own: its rows times their bytes, and its states."""

    name: str
    formats: tuple[str, ...]

    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        return list(layers)

    def stored(self, rows: Rows, asked: Format | None) -> Format:
        fmt = asked or format_named(rows.native or "bf16")
        if fmt.name not in self.formats:
            raise NotInEngine(
                f"not in this engine: {self.name} keeps no {rows.name} in {fmt.name}; "
                f"choose one of {', '.join(self.formats)}"
            )
        return fmt

    @abstractmethod
    def cells(self, rows: Rows, run: Run) -> Cells:
        """Rows in one buffer of this engine for a layer's rows, and how many buffers."""

    def shared(self, rows: Rows, run: Run) -> int:
        """Rows of a shared prefix that one sequence keeps for all; none where each has its own."""
        del rows, run
        return 0

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        return state.numbers, 4 if state.stored_as == "float32" else model_bytes

    def state_terms(self, layer: Layer, run: Run, model_bytes: int) -> Terms:
        kept = [(state, *self.state(state, model_bytes)) for state in layer.states]
        return tuple(
            Term(of=state, count=numbers, each=each, buffers=run.n_sequences)
            for state, numbers, each in kept
        )

    def row_terms(self, rows: Rows, run: Run, pieces_of: PiecesOf) -> Terms:
        """All cells, less the copies of a shared prefix."""
        cells = self.cells(rows, run)
        kept = terms_of(rows, pieces_of(rows, cells.rows), cells.buffers)
        shared = self.shared(rows, run) if run.n_copies and rows.side == "decoder" else 0
        if not shared:
            return kept
        return kept + terms_of(rows, pieces_of(rows, shared), run.n_copies, sign=-1)

    def all_rows(self, held: Sequence[Rows], run: Run, pieces_of: PiecesOf) -> Terms:
        return tuple(term for rows in held for term in self.row_terms(rows, run, pieces_of))

    def allocate(
        self, layers: Sequence[Layer], run: Run, pieces_of: PiecesOf, model_bytes: int
    ) -> Allocation:
        return Allocation(
            growing=tuple(self.all_rows(layer.rows, run, pieces_of) for layer in layers),
            fixed=tuple(
                self.all_rows(layer.cross_rows, run, pieces_of)
                + self.state_terms(layer, run, model_bytes)
                for layer in layers
            ),
        )


@dataclass(frozen=True)
class Ideal(PerLayer):
    """What the architecture needs: each layer's rows, a window's newest, rounded to blocks.

    Beams of one source read the same rows of it. A chunk is counted like a window, for what
    begins a new chunk is only known once the old one is full: engines keep up to its size.
    """

    name: str = "ideal"
    note: str = "what the architecture needs: min(T, window) rows a layer, a chunk as a window"
    formats: tuple[str, ...] = tuple(FORMATS)

    def cells(self, rows: Rows, run: Run) -> Cells:
        buffers = run.n_sources if rows.side == "encoder" else run.n_sequences
        return Cells(rows=up_to(rows.kept(run.seen(rows)), run.block), buffers=buffers)

    def shared(self, rows: Rows, run: Run) -> int:
        """Whole blocks of the prefix, as far as they are in the window."""
        prefix = run.shared_prefix // run.block * run.block
        first = 0 if rows.window is None else max(run.n_tokens - rows.window, 0)
        return max(prefix - first, 0) // rows.every


@dataclass(frozen=True)
class Transformers(PerLayer):
    """transformers 5's DynamicCache between steps: a window keeps one row less than it reads.

    Every sequence of a batch, and every beam, has a copy of all its rows.
    """

    name: str = "transformers"
    note: str = "DynamicCache(config=...) of transformers 5 between steps: windows keep W-1 rows"
    formats: tuple[str, ...] = ("fp32", "bf16", "fp16", "quanto2", "quanto4")

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

    The sequences share one unified buffer, and in it the cells of a shared prefix
    (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp; the formats: common/arg.cpp).
    """

    name: str = "llama.cpp"
    note: str = "cells for n_ctx at the start, padded to 256; a window holds W plus a micro-batch"
    formats: tuple[str, ...] = (
        "fp32",
        "fp16",
        "bf16",
        "q8_0",
        "q4_0",
        "q4_1",
        "iq4_nl",
        "q5_0",
        "q5_1",
    )
    pad: int = 256
    micro_batch: int = 512

    def cells(self, rows: Rows, run: Run) -> Cells:
        shared = run.n_copies * run.shared_prefix if rows.side == "decoder" else 0
        context = up_to(run.seen(rows) * run.n_sequences - shared, self.pad)
        if rows.window is not None:
            wanted = rows.window * run.n_sequences + (run.prefill_batch or self.micro_batch)
            context = min(context, up_to(wanted, self.pad))
        return Cells(rows=context // rows.every, buffers=1)

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        del model_bytes  # both the tail and the state are in 32 bits
        return state.numbers_without_newest, 4
