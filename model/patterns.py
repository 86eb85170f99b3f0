"""What a pattern reads and what it lets a cache drop: counted in closed form, not by looking.

Reading less is not storing less: a row may go only when no later query can read it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model import masks
from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A predicate and the two closed forms that go with it.

    `n_pairs(n)` is the number of (query, key) pairs when n tokens read themselves.
    `needed(n)` says of each of n cached rows whether a query at position n or later reads it.
    """

    may_read: masks.Predicate
    n_pairs: Callable[[int], int]
    needed: Callable[[int], Bool[Tensor, " seen"]]

    def rows_needed(self, n_tokens: int) -> Int[Tensor, " rows"]:
        """List the rows a cache must still hold after `n_tokens` tokens."""
        return self.needed(n_tokens).nonzero().squeeze(-1)


def triangle(n: int) -> int:
    """Add up 1 + 2 + .. + n: the causal pairs of n tokens.

    >>> triangle(16)
    136
    """
    return n * (n + 1) // 2


def window_pairs(n: int, width: int) -> int:
    """Count pairs in a window that counts the own token.

    >>> window_pairs(10, 4), window_pairs(16, 4), window_pairs(8192, 4096)
    (34, 58, 25167872)
    """
    inside = min(n, width)
    return triangle(inside) + (n - inside) * width


def every_pairs(n: int, stride: int) -> int:
    """Count pairs of every `stride`-th key back: the column part of the strided pattern.

    >>> every_pairs(16, 4)
    40
    """
    rounds, rest = divmod(n, stride)
    return stride * triangle(rounds) + rest * (rounds + 1)


def own_block_pairs(n: int, block: int) -> int:
    """Count causal pairs inside blocks of `block` tokens.

    >>> own_block_pairs(16, 4)
    40
    """
    blocks, rest = divmod(n, block)
    return blocks * triangle(block) + triangle(rest)


def closed_summary_pairs(n: int, block: int, n_summary: int) -> int:
    """Count readings of summary rows from later blocks only.

    >>> closed_summary_pairs(16, 4, 1)
    24
    """
    blocks = n // block
    return n_summary * (blocks * n - block * triangle(blocks))


def dilated_pairs(n: int, width: int, gap: int) -> int:
    """Count pairs of a window with gaps.

    >>> dilated_pairs(16, 4, 2)
    52
    """
    inside = min(n, width * gap)
    return every_pairs(inside, gap) + (n - inside) * width


def _all(n: int) -> Bool[Tensor, " seen"]:
    return torch.ones(n, dtype=torch.bool)


def _last(n: int, n_kept: int) -> Bool[Tensor, " seen"]:
    return torch.arange(n) >= n - n_kept


def causal() -> Pattern:
    """Read everything so far; nothing may ever be dropped."""
    return Pattern(may_read=masks.causal, n_pairs=triangle, needed=_all)


def full() -> Pattern:
    """Read everything, before and after."""
    return Pattern(may_read=masks.full, n_pairs=lambda n: n * n, needed=_all)


def cross(n_source: int) -> Pattern:
    """Read a source of `n_source` tokens whole, from every target token; it never grows."""
    return Pattern(
        may_read=masks.full,
        n_pairs=lambda n: n * n_source,
        needed=lambda _n: _all(n_source),
    )


def window(width: int) -> Pattern:
    """Read the last `width` tokens; all but width - 1 rows may go before the next one."""
    return Pattern(
        may_read=masks.window(width),
        n_pairs=lambda n: window_pairs(n, width),
        needed=lambda n: _last(n, width - 1),
    )


def window_with_sinks(width: int, n_sinks: int) -> Pattern:
    """Read the window and the first tokens."""
    return Pattern(
        may_read=masks.window_with_sinks(width, n_sinks),
        # a sink counts apart once the window has left it: a window of n_sinks, width later
        n_pairs=lambda n: window_pairs(n, width) + window_pairs(max(n - width, 0), n_sinks),
        needed=lambda n: _last(n, width - 1) | (torch.arange(n) < n_sinks),
    )


def prefix(n_prefix: int) -> Pattern:
    """Read the prompt both ways and the answer causally."""
    return Pattern(
        may_read=masks.prefix(n_prefix),
        n_pairs=lambda n: triangle(n) + triangle(max(min(n, n_prefix) - 1, 0)),
        needed=_all,
    )


def strided(stride: int) -> Pattern:
    """Read few rows at a time, but every row again later: nothing may be dropped."""
    return Pattern(
        may_read=masks.strided(stride),
        # both parts read the own token, and nothing else twice
        n_pairs=lambda n: window_pairs(n, stride) + every_pairs(n, stride) - n,
        needed=_all,
    )


def fixed(block: int, n_summary: int) -> Pattern:
    """Read the own block and summary rows: of a closed block only the summaries stay."""
    if not 1 <= n_summary <= block:
        message = f"a block of {block} has 1 to {block} summary rows, not {n_summary}"
        raise BadInput(message)

    def needed(n: int) -> Bool[Tensor, " seen"]:
        summary = torch.arange(n) % block >= block - n_summary
        return summary | _last(n, n % block)

    return Pattern(
        may_read=masks.fixed(block, n_summary),
        n_pairs=lambda n: own_block_pairs(n, block) + closed_summary_pairs(n, block, n_summary),
        needed=needed,
    )


def dilated(width: int, gap: int) -> Pattern:
    """Read a window with gaps; the rows in the gaps are for the next queries."""
    return Pattern(
        may_read=masks.dilated(width, gap),
        n_pairs=lambda n: dilated_pairs(n, width, gap),
        needed=lambda n: _last(n, (width - 1) * gap),
    )


PATTERNS: dict[str, Callable[..., Pattern]] = {
    "full": full,
    "causal": causal,
    "cross": cross,
    "window": window,
    "window-sinks": window_with_sinks,
    "prefix": prefix,
    "strided": strided,
    "fixed": fixed,
    "dilated": dilated,
}
