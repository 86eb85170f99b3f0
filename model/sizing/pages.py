"""Pages of a fixed number of tokens: how many a sequence holds, how many it shares, their bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from model.sizing.layers import Rows
from model.sizing.terms import PiecesOf, Term, Terms, terms_of


def up_to(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


def n_pages(n_tokens: int, block: int, most: int | None) -> int:
    """Pages of `block` tokens that hold `n_tokens`, or the newest `most` and one page more.

    The newest tokens need not begin where a page begins.
    """
    pages = -(-n_tokens // block)
    return pages if most is None else min(pages, -(-most // block) + 1)


def n_shared(n_tokens: int, prefix: int, block: int, held: int) -> int:
    """Whole pages of a shared prefix that are among the newest `held`."""
    first = -(-n_tokens // block) - held
    return max(prefix // block - first, 0)


def page_bytes(rows: Rows, n_rows: int, pieces_of: PiecesOf) -> int:
    """Bytes of the rows in one page."""
    return sum(piece.count * piece.each for piece in pieces_of(rows, n_rows))


def padding_of(n: int, each: int, buffers: int, *, sign: Literal[1, -1] = 1) -> Terms:
    """What `n` pages leave empty, `each` bytes of one."""
    if not (n and each and buffers):
        return ()
    return (Term(of=None, count=n, each=each, buffers=buffers, unit="pages", sign=sign),)


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Pages of `block` tokens and `n_bytes` bytes, whatever lies in them."""

    block: int
    n_bytes: int

    def terms(
        self,
        held: Sequence[Rows],
        n: int,
        buffers: int,
        pieces_of: PiecesOf,
        *,
        sign: Literal[1, -1] = 1,
    ) -> Terms:
        """`n` pages of these rows, `buffers` times, and what they leave empty."""
        if not n and sign < 0:
            return ()
        in_one = [(rows, -(-self.block // rows.every)) for rows in held]
        spare = self.n_bytes - sum(page_bytes(r, n_rows, pieces_of) for r, n_rows in in_one)
        kept = tuple(
            term
            for rows, n_rows in in_one
            for term in terms_of(rows, pieces_of(rows, n * n_rows), buffers, sign=sign)
        )
        return kept + padding_of(n, spare, buffers, sign=sign)
