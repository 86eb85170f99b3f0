"""Two continuations of one cache that turn out to be one, and beams that overwrite each other."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from model.beam import ForkedBeams
from model.bugs.bench_decoder import (
    CAPACITY,
    N_PROMPT,
    TOKENS,
    observed,
    random_tokens,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bug import Bug, Gauge, Observed
from model.cache import KVCache

LAWS = "tests/test_cache_laws.py::"
N_PREFIX, N_OTHERS = 3, 4


def same_cache(cache: KVCache) -> KVCache:
    """Give every user of the prefix the prefix itself."""
    return cache


class OneAfterAnother(ForkedBeams):
    """Fills beam after beam in place: the second reads what the first has just become."""

    def reorder(self, rows: Int[Tensor, " beams"]) -> None:
        for new, old in enumerate(rows.tolist()):
            self.caches[new] = self.caches[old].fork()


def two_users(fork: Callable[[KVCache], KVCache]) -> Observed:
    """Bench: a prefix of 3 tokens, a first user who adds 4, then the user we look at."""
    decoder = right_decoder()
    prefix = decoder.new_cache(CAPACITY)
    decoder(TOKENS[:N_PREFIX], prefix)
    first = fork(prefix)
    decoder(random_tokens(N_OTHERS, seed=7), first)
    second = fork(prefix)
    found = read(decoder, second, TOKENS[N_PREFIX:], [N_OTHERS])
    gauge = Gauge("rows after 3 shared and 4 own tokens", second.length - (len(found) - 1))
    expected = recompute(decoder, TOKENS, N_PREFIX + N_OTHERS)
    return observed(expected, found, gauges=[gauge])


def two_beams(make: type[ForkedBeams]) -> Observed:
    """Bench: two beams change places after the prompt; we follow the one that came from above."""
    decoder = right_decoder()
    beams = make(decoder, lambda: decoder.new_cache(CAPACITY))
    beams.caches = [decoder.new_cache(CAPACITY) for _ in range(2)]
    prompts = TOKENS[:N_PROMPT], random_tokens(N_PROMPT, seed=7)
    before, _ = (decoder(p, cache)[-1] for p, cache in zip(prompts, beams.caches, strict=True))
    beams.reorder(torch.tensor([1, 0]))
    found = [before, *(beams.step(token.expand(2))[1] for token in TOKENS[N_PROMPT:])]
    keys = [cache[1].read()[0] for cache in beams.caches]
    gauge = Gauge("largest difference between the keys of the two beams", distance(*keys))
    return observed(recompute(decoder, TOKENS), torch.stack(found), gauges=[gauge])


def distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


BUGS = {
    "shared-prefix-mutated": Bug(
        id="shared-prefix-mutated",
        title="The first user writes into everybody's prefix",
        story=(
            "A long system prompt is run once and its cache handed to every request. The object "
            "is passed on, not copied, and the first request appends its own tokens to it. The "
            "second one finds a stranger's question between the prompt and its own."
        ),
        source="huggingface/transformers#37078",
        step="the-cache-step-by-step#prefill",
        fix="Fork the cache for each user; with blocks, that copies nothing until somebody writes.",
        right="model.cache:KVCache.fork",
        twin="model.bugs.copies:same_cache",
        seam="fork",
        bench=two_users,
        caught_by=f"{LAWS}test_two_users_of_a_prefix_never_see_each_other",
    ),
    "beam-reorder": Bug(
        id="beam-reorder",
        title="Beams copied one after another",
        story=(
            "Beam search moves the caches along with the beams: row 0 shall continue row 1 and "
            "row 1 row 0. Copied in place, one after the other, the second copy reads what the "
            "first has just overwritten, and both beams are the same from then on."
        ),
        source="bigscience-workshop/petals#571",
        step="going-deeper#beam-search",
        fix="Gather all rows into new memory, then replace the old.",
        right="model.beam:ForkedBeams",
        twin="model.bugs.copies:OneAfterAnother",
        method="reorder",
        seam="beams",
        bench=two_beams,
        caught_by=f"{LAWS}test_reordered_beams_continue_the_rows_they_were_given",
    ),
}
