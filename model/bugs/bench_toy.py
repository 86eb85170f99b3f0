"""The trained translator as a bench: the same sentence, and words a reader can see go wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from model.bugs.bug import Bench, Gauge, Observed
from model.toy.arithmetic import FixedOrder, tensor_of
from model.toy.cache import Cache
from model.toy.config import ToyConfig
from model.toy.decode import (
    Choice,
    Places,
    Source,
    decode_naive,
    following,
    forced,
    likeliest,
    write,
)
from model.toy.masks import Mask, causal
from model.toy.network import KeysValues, Network
from model.toy.record import shipped, source_of, understand
from model.toy.vocabulary import END, START, vocabularies

SENTENCE = "The black cat sees a white bird."
EARLIER = "My dog is very happy!"
Kept = tuple[KeysValues, ...]


MakeKeeper = Callable[[ToyConfig, int], Cache]
"""Makes one layer's keeper of keys and values, for so many words."""


def of_this_source(
    network: Network, memory: Float[Tensor, "source d_model"], _earlier: Kept | None
) -> Kept:
    """Project the sentence that is being translated, whatever was translated before."""
    return network.project_memory(memory)


@dataclass(frozen=True, kw_only=True)
class Seams:
    """What a cached run of the toy is built from."""

    places: Places = following
    mask: Mask = causal
    keep: MakeKeeper = Cache
    source: Callable[[Network, Tensor, Kept | None], Kept] = of_this_source


def decode(
    network: Network, source: Source, seams: Seams, earlier: Kept | None, choose: Choice
) -> Iterator[tuple[Tensor, int]]:
    """Decode with a cache, as `model.toy.decode.decode_cached` does, every part replaceable."""
    kept = seams.source(network, source.memory, earlier)
    caches = [seams.keep(network.config, source.max_written) for _ in kept]
    newest = source.start
    for index in range(source.max_written):
        places, mask = seams.places(index, 1), seams.mask(1, index + 1)
        decoded = network.decode(tensor_of([newest]), places, caches, kept, mask)
        step = write(network, source, index, decoded, choose)
        yield step.logits, step.word
        newest = step.word
        if step.word == source.end:
            return


def on_toy(seam: str, gauges: Callable[[Seams], tuple[Gauge, ...]] = lambda _seams: ()) -> Bench:
    """Bench for one of `Seams`: the words of the right run are fed, then it writes by itself."""

    def bench(piece: Any) -> Observed:
        seams = replace(Seams(), **{seam: piece})
        network = Network(*shipped(), FixedOrder())
        _, earlier = source_of(network, understand(EARLIER, network.config))
        _, source = source_of(network, understand(SENTENCE, network.config))
        before = network.project_memory(earlier.memory)
        naive = list(decode_naive(network, source))
        choose = forced([step.word for step in naive])
        found = [logits for logits, _ in decode(network, source, seams, before, choose)]
        written = [word for _, word in decode(network, source, seams, before, likeliest)]
        return Observed(
            torch.stack([step.logits for step in naive]),
            torch.stack(found),
            shown(network),
            ("⟨start⟩", *(shown(network)[step.word] for step in naive[:-1])),
            gauges(seams),
            " ".join(shown(network)[word] for word in written if word != source.end),
        )

    return bench


def shown(network: Network) -> tuple[str, ...]:
    """The French vocabulary as the page prints it."""
    marks = {START: "⟨start⟩", END: "⟨end⟩"}
    return tuple(marks.get(word, word) for word in vocabularies(network.config).french.words)
