"""Which keys to keep when memory is short: two published rules, as pure functions.

Both look only at attention weights already computed, so a key dropped now is gone even if a
later question needs it. Kept keys keep their positions.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.errors import BadInput


def heavy_hitters(
    weights: Float[Tensor, "queries seen"], *, heavy: int, recent: int
) -> Int[Tensor, " kept"]:
    """Keep the `recent` newest keys and the `heavy` most attended of the others (H2O).

    weights: the attention rows of one head so far, zero above the diagonal. A key's score is
    the weight all queries gave it; of equal scores the older key stays. Source: Zhang et al.,
    arXiv 2306.14048; FMInference/H2O h2o_hf.

    >>> rows = torch.tensor([[1, 0, 0, 0, 0], [.6, .4, 0, 0, 0], [.5, .2, .3, 0, 0],
    ...                      [.4, .1, .2, .3, 0], [.3, .05, .25, .2, .2]])
    >>> heavy_hitters(rows, heavy=1, recent=2).tolist()
    [0, 3, 4]
    """
    _not_negative(heavy=heavy, recent=recent)
    seen = weights.shape[-1]
    older = max(seen - recent, 0)
    ranking = weights.sum(dim=0)[:older].sort(descending=True, stable=True).indices
    return torch.cat([ranking[:heavy].sort().values, torch.arange(older, seen)])


def observed_by_the_end(
    weights: Float[Tensor, "observers seen"], *, capacity: int, kernel: int = 5
) -> Int[Tensor, " kept"]:
    """Keep what the last prompt queries attend to, and those queries' own keys (SnapKV).

    weights: attention rows of the last tokens of the prompt (the observers) over all of it.
    Scores are averaged over `kernel` neighbours so that a fact is kept with its surroundings;
    of equal scores the older key stays. Nothing is dropped while the prompt fits, nor later,
    during decoding. Source: Li et al., arXiv 2404.14469; FasterDecoding/SnapKV.
    """
    observers, seen = weights.shape
    if seen <= capacity:
        return torch.arange(seen)
    if capacity < observers or kernel < 1 or kernel % 2 == 0:
        message = (
            f"{capacity} keys cannot hold {observers} observers (kernel {kernel}): "
            f"use at least {observers} and an odd kernel"
        )
        raise BadInput(message)
    older = seen - observers
    scores = weights[:, :older].sum(dim=0)[None]
    smooth = torch.nn.functional.avg_pool1d(
        scores, kernel, stride=1, padding=kernel // 2, count_include_pad=True
    )[0]
    best = smooth.sort(descending=True, stable=True).indices[: capacity - observers]
    return torch.cat([best.sort().values, torch.arange(older, seen)])


def _not_negative(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 0:
            message = f"{name} is {size}: it must be at least 0"
            raise BadInput(message)
