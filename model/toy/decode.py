"""Greedy decoding twice: once forgetting everything, once forgetting nothing.

Read `decode_naive` and `decode_cached` side by side: what differs is the KV cache.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from model.errors import BadInput
from model.toy.arithmetic import Work, tensor_of
from model.toy.cache import Forgetful
from model.toy.masks import Mask, causal
from model.toy.network import Decoded, KeysValues, Network

Places = Callable[[int, int], slice]
Choice = Callable[[int, Tensor], int]  # step and probabilities to the word written


class Source(NamedTuple):
    """An encoded sentence, and the words that may be written for it."""

    memory: Float[Tensor, "source d_model"]
    allowed: Bool[Tensor, " vocab"]
    start: int
    end: int
    max_written: int


class Step(NamedTuple):
    """One decode step: everything computed to write one word."""

    decoded: Decoded
    logits: Float[Tensor, " vocab"]  # after the last word fed, before any word is ruled out
    probabilities: Float[Tensor, " vocab"]
    word: int
    work: Work
    cache_bytes: int


def following(n_before: int, n_new: int) -> slice:
    """Place new words after those already read."""
    return slice(n_before, n_before + n_new)


def always_first(_n_before: int, n_new: int) -> slice:
    """Place every new word at 0: a common bug, the cached run forgets how far it is."""
    return slice(0, n_new)


def likeliest(_step: int, probabilities: Float[Tensor, " vocab"]) -> int:
    return int(probabilities.argmax())


def forced(words: Sequence[int]) -> Choice:
    """Write these words, whatever the probabilities say (teacher forcing)."""
    return lambda step, _probabilities: words[step]


def decode_naive(
    network: Network, source: Source, choose: Choice = likeliest, mask: Mask = causal
) -> Iterator[Step]:
    """Project the source, and read everything written so far, again for every word."""
    written = [source.start]
    for index in range(source.max_written):
        n = len(written)
        keys_values = network.project_memory(source.memory)
        nothing = [Forgetful() for _ in keys_values]
        decoded = network.decode(
            tensor_of(written), following(0, n), nothing, keys_values, mask(n, n)
        )
        step = write(network, source, index, decoded, choose)
        yield step
        written.append(step.word)
        if step.word == source.end:
            return


def decode_cached(
    network: Network, source: Source, choose: Choice = likeliest, places: Places = following
) -> Iterator[Step]:
    """Project the source once, and read every word once, when it has just been written."""
    keys_values = network.project_memory(source.memory)
    caches = network.caches(source.max_written)
    newest = source.start
    for index in range(source.max_written):
        decoded = network.decode(tensor_of([newest]), places(index, 1), caches, keys_values)
        step = write(network, source, index, decoded, choose)
        yield step._replace(cache_bytes=sum(cache.nbytes for cache in caches))
        newest = step.word
        if step.word == source.end:
            return


def write(
    network: Network,
    source: Source,
    index: int,
    decoded: Decoded,
    choose: Choice,
) -> Step:
    """Choose the next word from the last row; words the sentence cannot have are ruled out."""
    logits = network.logits(decoded.y[-1:])
    allowed = logits.masked_fill(~source.allowed, -torch.inf)
    probabilities = network.arithmetic.softmax(allowed)[0]
    word = choose(index, probabilities)
    work = network.arithmetic.take_work()
    return Step(decoded, logits[0], probabilities, word, work, cache_bytes=0)


class Prefilled(NamedTuple):
    """What a decoder holds after it has read a prompt: a pair of rows per word and layer."""

    keys_values: tuple[KeysValues, ...]
    y: Float[Tensor, "prompt d_model"]


def prefill(
    network: Network, source: Source, prompt: Sequence[int], split: Sequence[int]
) -> Prefilled:
    """Read a decoder prompt in chunks of the sizes `split`: one pass, word by word, or between."""
    if sum(split) != len(prompt) or min(split, default=0) < 1:
        raise BadInput(f"chunks of {list(split)} words do not make up a prompt of {len(prompt)}")
    keys_values = network.project_memory(source.memory)
    caches = network.caches(len(prompt))
    passes = []
    for end, new in zip(accumulate(split), split, strict=True):
        chunk = tensor_of(list(prompt[end - new : end]))
        places, mask = following(end - new, new), causal(new, end)
        passes.append(network.decode(chunk, places, caches, keys_values, mask))
    read = (layer.attention for layer in passes[-1].layers)
    kept = tuple(KeysValues(attention.k, attention.v) for attention in read)
    return Prefilled(kept, torch.cat([decoded.y for decoded in passes]))
