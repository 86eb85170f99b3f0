"""A typed sentence through the trained variants: what each writes, keeps and computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.toy.arithmetic import Arithmetic, FixedOrder
from model.toy.decode import Choice, Source, Step, decode_cached, forced, likeliest
from model.toy.network import Network, sinusoids
from model.toy.parameters import Parameters
from model.toy.record import source_of, understand
from model.toy.teacher import translate
from model.toy.tokens import Reading
from model.toy.variants.catalogue import TRAINED, VARIANTS
from model.toy.variants.latent import AbsorbedNetwork
from model.toy.variants.results import weights_path
from model.toy.variants.tiled import TiledNetwork
from model.toy.vocabulary import END, vocabularies
from model.toy.weights import load

PLAIN = "mha"
GROUPED = {4: "four-heads", 2: "four-heads-gqa", 1: "four-heads-mqa"}


@cache
def parameters_of(name: str) -> Parameters:
    """Load a variant's weights, with codes for every place that can be reached."""
    variant = TRAINED[name]
    config, design = variant.config, variant.design
    weights = load(config, weights_path(name), design.shapes)
    return design.assemble(config, weights, sinusoids(config, config.max_written + 1))


def network_of(name: str, arithmetic: Arithmetic | None = None) -> Network:
    """Set a trained variant up for one run."""
    variant = TRAINED[name]
    return variant.design.network(variant.config, parameters_of(name), arithmetic or FixedOrder())


def prepared(network: Network, text: str) -> tuple[Reading, Source]:
    """Read a text and encode it with this network."""
    reading = understand(text, network.config)
    return reading, source_of(network, reading)[1]


def steps_of(network: Network, text: str, choose: Choice = likeliest) -> list[Step]:
    """Run a text with the cache."""
    with torch.inference_mode():
        _, source = prepared(network, text)
        return list(decode_cached(network, source, choose))


def words_of(network: Network, steps: Sequence[Step]) -> tuple[str, ...]:
    french = vocabularies(network.config).french.words
    return tuple(french[step.word] for step in steps)


@dataclass(frozen=True)
class Written:
    """What one variant wrote; the end mark is the last word."""

    words: tuple[str, ...]
    changed: tuple[bool, ...]  # against the plain variant's words
    right: bool  # equal to the teacher in every word
    cache_bytes: int  # measured after the last step


def changes(words: Sequence[str], plain: Sequence[str]) -> tuple[bool, ...]:
    """Mark the words that are not in the plain sequence at their place in it.

    >>> changes(["le", "petit", "chat"], ["le", "chat", "noir"])
    (False, True, False)
    """
    kept = SequenceMatcher(a=plain, b=words, autojunk=False).get_matching_blocks()
    same = {block.b + k for block in kept for k in range(block.size)}
    return tuple(k not in same for k in range(len(words)))


def written_by_all(text: str) -> dict[str, Written]:
    """Put a text through every variant.

    Raises
    ------
    BadInput
        There is nothing to read in the text.
    """
    found: dict[str, Written] = {}
    for name in VARIANTS:
        network = network_of(name)
        steps = steps_of(network, text)
        words = words_of(network, steps)
        plain = found[PLAIN].words if found else words
        wanted = (*translate(understand(text, network.config).words), END)
        found[name] = Written(words, changes(words, plain), words == wanted, steps[-1].cache_bytes)
    return found


@dataclass(frozen=True)
class Grouped:
    """Four query heads on so many key/value heads, made to write the same words."""

    k: Float[np.ndarray, "layers kv_heads seen d_head"]
    v: Float[np.ndarray, "layers kv_heads seen d_head"]
    cache_bytes: int
    scores: int  # query-key products, counted
    multiply_adds: int


def grouped(text: str, words: Sequence[int]) -> dict[int, Grouped]:
    """Count what 4, 2 and 1 key/value heads keep and compute for the same words."""
    found = {}
    for n_kv_heads, name in GROUPED.items():
        steps = steps_of(network_of(name), text, forced(words))
        layers = [layer.attention for layer in steps[-1].decoded.layers]
        found[n_kv_heads] = Grouped(
            k=stacked([a.k for a in layers]),
            v=stacked([a.v for a in layers]),
            cache_bytes=steps[-1].cache_bytes,
            scores=sum(step.work.self_scores for step in steps),
            multiply_adds=sum(step.work.multiply_adds for step in steps),
        )
    return found


def tiled_gap(text: str, words: Sequence[int], n_kv_heads: int) -> float:
    """Largest change of a logit when query heads read the key/value heads in the wrong order."""
    name = GROUPED[n_kv_heads]
    right = steps_of(network_of(name), text, forced(words))
    wrong = steps_of(
        TiledNetwork(VARIANTS[name].config, parameters_of(name), FixedOrder()), text, forced(words)
    )
    return float(gaps(right, wrong).max())


def gaps(a: Sequence[Step], b: Sequence[Step]) -> Float[np.ndarray, " steps"]:
    """Largest difference over all logits of each step."""
    pairs = zip(a, b, strict=True)
    return np.array([float((one.logits - two.logits).abs().max()) for one, two in pairs])


@dataclass(frozen=True)
class Latents:
    """MLA's cache of one run, read the two ways; arrays start with layer and head, or layer."""

    words: tuple[str, ...]
    latent: Float[np.ndarray, "layers seen d_latent"]
    rope_key: Float[np.ndarray, "layers seen d_rope"]
    expanded_keys: Float[np.ndarray, "layers heads seen d_key"]
    expanded_query: Float[np.ndarray, "layers heads d_key"]
    absorbed_query: Float[np.ndarray, "layers heads d_absorbed"]
    expanded_scores: Float[np.ndarray, "layers heads seen"]
    absorbed_scores: Float[np.ndarray, "layers heads seen"]
    gap: Float[np.ndarray, " steps"]  # of the logits, naive against absorbed
    cache_bytes: int


def latents(text: str) -> Latents:
    """Run MLA the naive way and absorbed, on the words the naive way writes."""
    network = network_of("mla")
    naive = steps_of(network, text)
    absorbed_network = AbsorbedNetwork(network.config, network.parameters, FixedOrder())
    absorbed = steps_of(absorbed_network, text, forced([step.word for step in naive]))
    a = [layer.attention for layer in naive[-1].decoded.layers]
    b = [layer.attention for layer in absorbed[-1].decoded.layers]
    d_latent = b[0].v.shape[-1]
    return Latents(
        words=words_of(network, naive),
        latent=stacked([one.v[0] for one in b]),
        rope_key=stacked([one.k[0, :, d_latent:] for one in b]),
        expanded_keys=stacked([one.k for one in a]),
        expanded_query=stacked([one.q[:, -1] for one in a]),
        absorbed_query=stacked([one.q[:, -1] for one in b]),
        expanded_scores=stacked([one.scores[:, -1] for one in a]),
        absorbed_scores=stacked([one.scores[:, -1] for one in b]),
        gap=gaps(naive, absorbed),
        cache_bytes=naive[-1].cache_bytes,
    )


def stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.stack([tensor.numpy() for tensor in tensors])
