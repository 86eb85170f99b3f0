"""The toy's parameters: their names, their shapes, and where each one sits in the network."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor

from model.toy.config import ToyConfig
from model.toy.vocabulary import vocabularies


class EncoderLayer(NamedTuple):
    qkv: Tensor  # d_model, 3 * d_model: query, key and value projections side by side
    out: Tensor
    gain1: Tensor
    shift1: Tensor
    widen: Tensor
    widen_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor
    gain2: Tensor
    shift2: Tensor


class DecoderLayer(NamedTuple):
    qkv: Tensor
    out: Tensor
    gain1: Tensor
    shift1: Tensor
    cross_q: Tensor
    cross_kv: Tensor
    cross_out: Tensor
    gain2: Tensor
    shift2: Tensor
    widen: Tensor
    widen_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor
    gain3: Tensor
    shift3: Tensor


class Parameters(NamedTuple):
    english: Tensor  # vocab d_model
    french: Tensor
    positions: Tensor  # not trained
    encoder: tuple[EncoderLayer, ...]
    decoder: tuple[Any, ...]  # of `DecoderLayer`, or of a variant's own kind
    unembed: Tensor
    unembed_bias: Tensor


Shapes = dict[str, tuple[int, ...]]


def shapes(config: ToyConfig) -> Shapes:
    """Every trained parameter by name, in the order they are stored."""
    vocabulary = vocabularies(config)
    named: Shapes = {"english": (len(vocabulary.english.words), config.d_model)}
    named["french"] = (len(vocabulary.french.words), config.d_model)
    for index in range(config.n_layers):
        named |= {f"encoder.{index}.{name}": s for name, s in encoder_shapes(config).items()}
    for index in range(config.n_layers):
        named |= {f"decoder.{index}.{name}": s for name, s in decoder_shapes(config).items()}
    named["unembed"] = (config.d_model, len(vocabulary.french.words))
    named["unembed_bias"] = (len(vocabulary.french.words),)
    return named


def encoder_shapes(config: ToyConfig) -> Shapes:
    d = config.d_model
    return {"qkv": (d, 3 * d), "out": (d, d), **norm(d, 1), **feed_forward(config), **norm(d, 2)}


def decoder_shapes(config: ToyConfig) -> Shapes:
    d, kept = config.d_model, 2 * config.n_kv_heads * config.d_head
    own = {"qkv": (d, d + kept), "out": (d, d), **norm(d, 1)}
    cross = {"cross_q": (d, d), "cross_kv": (d, kept), "cross_out": (d, d), **norm(d, 2)}
    return {**own, **cross, **feed_forward(config), **norm(d, 3)}


def norm(d_model: int, number: int) -> Shapes:
    return {f"gain{number}": (d_model,), f"shift{number}": (d_model,)}


def feed_forward(config: ToyConfig) -> Shapes:
    d, d_ff = config.d_model, config.d_ff
    return {"widen": (d, d_ff), "widen_bias": (d_ff,), "narrow": (d_ff, d), "narrow_bias": (d,)}


def assemble(config: ToyConfig, named: Mapping[str, Tensor], positions: Tensor) -> Parameters:
    """Put named tensors in their places."""
    layers = range(config.n_layers)
    return Parameters(
        english=named["english"],
        french=named["french"],
        positions=positions,
        encoder=tuple(
            EncoderLayer(*(named[f"encoder.{i}.{f}"] for f in EncoderLayer._fields)) for i in layers
        ),
        decoder=tuple(
            DecoderLayer(*(named[f"decoder.{i}.{f}"] for f in DecoderLayer._fields)) for i in layers
        ),
        unembed=named["unembed"],
        unembed_bias=named["unembed_bias"],
    )
