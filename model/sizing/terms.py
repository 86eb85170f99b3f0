"""An answer's products: what is kept, how many, and how many bytes each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from model.sizing.formats import Piece
from model.sizing.layers import Rows, State

PiecesOf = Callable[[Rows, int], tuple[Piece, ...]]
"""What so many rows are stored as, in the format that was chosen for them."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """`count` units of `each` bytes, `buffers` times over: totals and their text are made of these.

    `of` says what the units are of; None is padding. `unit` names them where they are not the
    tokens or entries that rows are counted in. `sign` is -1 for copies that are not kept.
    """

    of: Rows | State | None
    count: int
    each: int
    buffers: int
    unit: str = ""
    sign: Literal[1, -1] = 1

    @property
    def n_bytes(self) -> int:
        return self.sign * self.count * self.each * self.buffers


Terms = tuple[Term, ...]


def total(terms: Iterable[Term]) -> int:
    return sum(term.n_bytes for term in terms)


def terms_of(
    rows: Rows, pieces: Iterable[Piece], buffers: int, *, sign: Literal[1, -1] = 1
) -> Terms:
    """The pieces some rows are stored as, kept `buffers` times."""
    return tuple(
        Term(
            of=rows,
            count=piece.count,
            each=piece.each,
            unit=piece.unit,
            buffers=buffers,
            sign=sign,
        )
        for piece in pieces
    )


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The terms of each layer, split into what grows and what is fixed, and padding beside them."""

    growing: tuple[Terms, ...]
    fixed: tuple[Terms, ...]
    padding: int = 0

    @property
    def fixed_bytes(self) -> int:
        return sum(map(total, self.fixed))

    @property
    def total(self) -> int:
        return sum(map(total, self.growing)) + self.fixed_bytes + self.padding
