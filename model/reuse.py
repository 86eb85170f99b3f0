"""What of a cache is still true when the text it was made from has changed."""

from collections.abc import Sequence
from itertools import takewhile
from operator import eq


def rows_still_true(kept: Sequence[int], wanted: Sequence[int]) -> int:
    """Count the rows a new text may reuse: those before the first token that differs.

    Every row depends on all tokens before it, so nothing after a change can stay. One token
    of the new text always has to run, because the cache holds no logits.

    >>> rows_still_true([1, 2, 3, 4], [1, 2, 9, 4])
    2
    """
    same = sum(takewhile(bool, map(eq, kept, wanted)))
    return min(same, len(wanted) - 1)


def unseen(tokens: Sequence[int], n_cached: int) -> Sequence[int]:
    """Pick the tokens to feed: those the cache has no rows of.

    >>> unseen([1, 2, 3, 4], 3)
    [4]
    """
    return tokens[n_cached:]
