"""Decoders of attention layers, alone or among layers that keep a state."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from model.layer_work import ExpertWork, LayerWork
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import hybrids, mixers, states
from model.sizing.parameters.decoder import Recipe, sparse_layers
from model.sizing.parameters.experts import Experts
from model.sizing.parameters.parts import mlp
from model.sizing.work.latent import latent_part
from model.sizing.work.parts import (
    Body,
    Count,
    attending,
    fed,
    input_table,
    plus,
    state_bytes,
    used_experts,
    with_experts,
)
from model.sizing.work.states import RECURRENT, lightning, mixing

PLAIN = Recipe()


def attention_decoder(recipe: Recipe) -> Count:
    """Attention and a feed-forward network in every layer."""

    def count(fields: Fields, layers: list[Layer]) -> Body:
        hidden = fields.defining("hidden_size")
        sparse = sparse_layers(fields, recipe, len(layers))
        parts = (attending(layer, layers[layer.owner], hidden, recipe) for layer in layers)
        return Body(
            layers=tuple(
                fed(fields, part, recipe, sparse=is_sparse)
                for part, is_sparse in zip(parts, sparse, strict=True)
            ),
            table=input_table(fields),
        )

    return count


def mixed(recipe: Recipe, mixer: mixers.Mixer) -> Count:
    """Attention where a layer has rows, a mixer where it has states, or both beside each other."""

    def count(fields: Fields, layers: list[Layer]) -> Body:
        hidden = fields.defining("hidden_size")
        sparse = sparse_layers(fields, recipe, len(layers))
        found = mixer(fields, hidden)
        parts = (_one_or_both(layer, found, hidden, recipe) for layer in layers)
        return _recurrent(
            fields,
            (
                fed(fields, part, recipe, sparse=is_sparse)
                for part, is_sparse in zip(parts, sparse, strict=True)
            ),
        )

    return count


def _one_or_both(layer: Layer, mixer: mixers.AnyMixer, hidden: int, recipe: Recipe) -> LayerWork:
    if not layer.states:
        return attending(layer, layer, hidden, recipe)
    mixed_in = mixing(mixer, layer, hidden)
    if not layer.rows:
        return mixed_in
    return replace(attending(layer, layer, hidden, recipe), beside=(mixed_in,))


def _recurrent(fields: Fields, layers: Iterable[LayerWork]) -> Body:
    return Body(layers=tuple(layers), table=input_table(fields), assumed=(RECURRENT,))


def alone(mixer: mixers.Mixer) -> Count:
    """A mixer in every layer, nothing else."""

    def count(fields: Fields, layers: list[Layer]) -> Body:
        hidden = fields.defining("hidden_size")
        found = mixer(fields, hidden)
        return _recurrent(fields, (mixing(found, layer, hidden) for layer in layers))

    return count


def granite_hybrid(fields: Fields, layers: list[Layer]) -> Body:
    """Granite 4: a shared MLP in every layer, experts beside it where there are any."""
    hidden = fields.defining("hidden_size")
    mixer = mixers.bamba_mixer(fields, hidden)
    shared = mlp(hidden, fields.required("shared_intermediate_size"))
    counted = []
    for layer in layers:
        part = plus(_one_or_both(layer, mixer, hidden, PLAIN), shared)
        if fields.integer("num_experts", least=0):
            part = with_experts(fields, part, Experts(width="intermediate_size"))
        counted.append(part)
    return _recurrent(fields, counted)


def nemotron_h(fields: Fields, layers: list[Layer]) -> Body:
    """One thing a layer: Mamba 2, attention, an MLP or experts."""
    hidden = fields.defining("hidden_size")
    mixer = mixers.nemotron_mixer(fields, hidden)
    counted = []
    for layer, letter in zip(layers, hybrids.nemotron_letters(fields, layers), strict=True):
        if layer.states or layer.rows:
            counted.append(_one_or_both(layer, mixer, hidden, PLAIN))
        elif letter == "E":
            counted.append(nemotron_experts(fields, hidden))
        else:
            inner = fields.required("intermediate_size")
            counted.append(LayerWork(weights=mlp(hidden, inner, gated=False)))
    return _recurrent(fields, counted)


def nemotron_experts(fields: Fields, hidden: int) -> LayerWork:
    """Experts behind a narrower width, where there is one, and a shared one at full width."""
    narrow = fields.integer("moe_latent_size")
    n_experts = fields.required("num_experts")
    shared = mlp(hidden, hybrids.nemotron_shared(fields), gated=False)
    each = mlp(narrow or hidden, fields.required("moe_intermediate_size"), gated=False)
    return LayerWork(
        weights=n_experts * hidden + shared + (2 * hidden * narrow if narrow else 0),
        experts=ExpertWork(count=n_experts, used=used_experts(fields), weights=each),
    )


def lfm2(fields: Fields, layers: list[Layer]) -> Body:
    """Short convolutions or attention, then an MLP of adjusted width, or experts."""
    hidden = fields.defining("hidden_size")
    dense = fields.integer("num_dense_layers", least=0)
    counted = []
    for layer in layers:
        part = attending(layer, layer, hidden, PLAIN)
        if layer.states:
            kernel = states.convolution_matrices(fields, hidden)
            part = LayerWork(weights=kernel, state_bytes=state_bytes(layer))
        if dense is None or layer.index < dense:
            counted.append(plus(part, mlp(hidden, hybrids.lfm2_width(fields))))
        else:
            counted.append(with_experts(fields, part, Experts()))
    return _recurrent(fields, counted)


def kimi_linear(fields: Fields, layers: list[Layer]) -> Body:
    """Delta layers among latent ones (arXiv 2510.26692)."""
    hidden = fields.defining("hidden_size")
    sparse = sparse_layers(fields, hybrids.KIMI, len(layers))
    mixer = states.kimi_delta(fields)
    parts = (
        mixing(mixer, layer, hidden) if layer.states else latent_part(fields, layer)
        for layer in layers
    )
    return _recurrent(
        fields,
        (
            fed(fields, part, hybrids.KIMI, sparse=is_sparse)
            for part, is_sparse in zip(parts, sparse, strict=True)
        ),
    )


def minimax(fields: Fields, layers: list[Layer]) -> Body:
    """Lightning attention among full attention, experts after each (arXiv 2501.08313)."""
    hidden = fields.defining("hidden_size")
    weights = hybrids.lightning(hidden, hybrids.attention_width(layers))
    parts = (
        lightning(layer, weights)
        if layer.states
        else attending(layer, layer, hidden, hybrids.MINIMAX)
        for layer in layers
    )
    return _recurrent(fields, (fed(fields, part, hybrids.MINIMAX, sparse=True) for part in parts))


WORKS: Mapping[str, Count] = {
    **{name: mixed(recipe, mixer) for name, (recipe, mixer) in hybrids.MIXED.items()},
    **{name: alone(mixer) for name, mixer in hybrids.ALONE.items()},
    "granitemoehybrid": granite_hybrid,
    "kimi_linear": kimi_linear,
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
    "minimax": minimax,
    "nemotron_h": nemotron_h,
}
