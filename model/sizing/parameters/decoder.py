"""Decoders of attention and MLP layers: one recipe says what a family adds to the plain one."""

from collections.abc import Callable
from dataclasses import dataclass

from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.experts import Experts
from model.sizing.parameters.parts import key_and_value, matrix, mlp, tables

Flag = bool | str
"""A fact of the family, or the config key that decides it."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Weights of a decoder beyond its matrices.

    `norms` a layer and one at the end, of `norm_numbers` per channel (2 with a bias);
    `qk_norm` is "head" (a norm per head width) or "wide" (over all heads);
    `sinks` names the kind of layer with a learned logit per head, or all;
    `positions` is the offset of a learned position table, None without one.
    """

    norms: int = 2
    norm_numbers: int = 1
    qkv_bias: Flag = False
    out_bias: Flag = False
    mlp_bias: Flag = False
    gated: bool = True
    qk_norm: str = ""
    sinks: str = ""
    query_gate: bool = False
    gate: str = ""
    positions: int | None = None
    end_norms: int = 1
    head_bias: bool = False
    experts: Experts | None = None
    dense_width: str = "intermediate_size"
    more: Callable[[Fields, int], int] | None = None
    per_layer_extra: Callable[[Fields, int], int] | None = None


def is_on(fields: Fields, flag: Flag) -> bool:
    return fields.flag(flag) if isinstance(flag, str) else flag


def projections(layer: Layer, owner: Layer, hidden: int, recipe: Recipe) -> int:
    """Query, key, value, output and gate matrices; a reusing layer has no key and value."""
    pair = key_and_value(layer, owner)
    if pair is None or layer.query_heads is None:
        return 0
    key, value = pair
    query, out = layer.query_heads * key.width, layer.query_heads * value.width
    total = matrix(hidden, query * (2 if recipe.query_gate else 1)) + matrix(out, hidden)
    if layer.rows:
        total += matrix(hidden, key.numbers) + matrix(hidden, value.numbers)
    if recipe.gate:
        total += matrix(hidden, out if recipe.gate == "wide" else layer.query_heads)
    return total


def attention(fields: Fields, layer: Layer, owner: Layer, hidden: int, recipe: Recipe) -> int:
    """The projections, their biases, sinks and norms."""
    pair = key_and_value(layer, owner)
    if pair is None or layer.query_heads is None:
        return 0
    key, value = pair
    query = layer.query_heads * key.width
    owns = bool(layer.rows)
    total = projections(layer, owner, hidden, recipe)
    if is_on(fields, recipe.qkv_bias):
        total += query * (2 if recipe.query_gate else 1)
        total += key.numbers + value.numbers if owns else 0
    if is_on(fields, recipe.out_bias):
        total += hidden
    if recipe.sinks in {"all", layer.kind}:
        total += layer.query_heads
    return total + qk_norms(recipe, query, key.width, key.numbers, owns=owns)


def qk_norms(recipe: Recipe, query: int, width: int, key: int, *, owns: bool) -> int:
    if recipe.qk_norm == "head":
        return width * (2 if owns else 1)
    if recipe.qk_norm == "head with bias":
        return 4 * width
    if recipe.qk_norm == "wide":
        return query + key
    return 0


def dense_width(fields: Fields, key: str, hidden: int) -> int:
    """The MLP's width; four times the model's where the class says so by leaving it out."""
    if fields.given(key) is None and fields.model_type in FOUR_TIMES:
        return 4 * hidden
    return fields.defining(key)


FOUR_TIMES = {
    "bloom",
    "codegen",
    "falcon",
    "RefinedWeb",
    "RefinedWebModel",
    "gpt2",
    "gpt-sw3",
    "gpt_bigcode",
    "gpt_neo",
    "gptj",
    "mpt",
    "openai-gpt",
}


def feed_forward(fields: Fields, sparse: bool, hidden: int, recipe: Recipe) -> int:  # noqa: FBT001
    if sparse and recipe.experts is not None:
        return recipe.experts.weights(fields, hidden)
    inner = dense_width(fields, recipe.dense_width, hidden)
    return mlp(hidden, inner, gated=recipe.gated, bias=is_on(fields, recipe.mlp_bias))


def sparse_layers(fields: Fields, recipe: Recipe, n_layers: int) -> list[bool]:
    if recipe.experts is None:
        return [False] * n_layers
    return recipe.experts.sparse(fields, n_layers)


def ends(fields: Fields, hidden: int, recipe: Recipe) -> int:
    """Tables, the last norms, learned positions, the output bias."""
    total = tables(fields, hidden) + recipe.end_norms * hidden * recipe.norm_numbers
    if recipe.positions is not None:
        total += (fields.required("max_position_embeddings") + recipe.positions) * hidden
    if recipe.head_bias:
        total += fields.defining("vocab_size")
    if recipe.more is not None:
        total += recipe.more(fields, hidden)
    return total


def count(fields: Fields, layers: list[Layer], recipe: Recipe) -> int:
    """Every weight of a decoder cooked after `recipe`; like layers are counted once."""
    hidden = fields.defining("hidden_size")
    sparse = sparse_layers(fields, recipe, len(layers))
    like: dict[tuple[object, ...], int] = {}
    total = ends(fields, hidden, recipe)
    for layer, is_sparse in zip(layers, sparse, strict=True):
        owner = layers[layer.owner]
        key = (layer.holds, owner.holds, layer.query_heads, layer.kind, is_sparse)
        if key not in like:
            like[key] = one_layer(fields, layer, owner, recipe, sparse=is_sparse)
        total += like[key]
    return total


def one_layer(fields: Fields, layer: Layer, owner: Layer, recipe: Recipe, *, sparse: bool) -> int:
    hidden = fields.defining("hidden_size")
    total = attention(fields, layer, owner, hidden, recipe)
    total += feed_forward(fields, sparse, hidden, recipe)
    total += recipe.norms * hidden * recipe.norm_numbers
    if recipe.per_layer_extra is not None:
        total += recipe.per_layer_extra(fields, hidden)
    return total
