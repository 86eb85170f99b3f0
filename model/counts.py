"""How much work decoding is, in closed form, with a cache and without.

A prompt of ``p`` tokens and ``n`` generated ones; the pass that reads the prompt yields the
first, so ``n`` tokens take one prefill and ``n - 1`` decode steps. Counts are per layer (and per
head, for scores). Derived in the lesson; checked against counters of the code that runs.
"""

from math import comb

from model.errors import BadInput


def _check(n_prompt: int, n_new: int) -> None:
    if n_prompt < 1 or n_new < 1:
        raise BadInput(f"a run needs 1 or more of each; got prompt {n_prompt}, new {n_new}")


def positions_naive(n_prompt: int, n_new: int) -> int:
    """Positions computed when every step runs the whole sequence again.

    >>> positions_naive(100, 1000)
    599500
    """
    _check(n_prompt, n_new)
    return n_new * n_prompt + n_new * (n_new - 1) // 2


def positions_cached(n_prompt: int, n_new: int) -> int:
    """Positions computed when keys and values are kept.

    >>> positions_cached(100, 1000)
    1099
    """
    _check(n_prompt, n_new)
    return n_prompt + n_new - 1


def scores_naive(n_prompt: int, n_new: int) -> int:
    """Causal query-key products without a cache: the sum of k(k+1)/2 over k = p .. p+n-1.

    >>> scores_naive(4, 6)
    155
    """
    _check(n_prompt, n_new)
    return comb(n_prompt + n_new + 1, 3) - comb(n_prompt + 1, 3)


def scores_cached(n_prompt: int, n_new: int) -> int:
    """Causal query-key products with a cache: each position asks every earlier one once.

    >>> scores_cached(4, 6)
    45
    """
    _check(n_prompt, n_new)
    return comb(n_prompt + n_new, 2)


def numbers_per_token(n_layers: int, n_kv_heads: int, d_key: int, d_value: int) -> int:
    """Numbers one token leaves behind: a key and a value in every layer and key-value head.

    >>> numbers_per_token(n_layers=2, n_kv_heads=2, d_key=4, d_value=4)
    32
    """
    return n_layers * n_kv_heads * (d_key + d_value)
