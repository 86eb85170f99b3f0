"""Weights of Gemma 3n and 4, whose layers take a table of their own beside the word table."""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, attention, ends
from model.sizing.parameters.latent import Count
from model.sizing.parameters.parts import key_and_value, mlp

RECIPE = Recipe(norms=4, qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head")


def per_layer_tables(fields: Fields, hidden: int, n_layers: int) -> int:
    """A narrow row per word and layer, its projection from the word's row, and a norm."""
    narrow = fields.integer("hidden_size_per_layer_input", least=0) or 0
    if not narrow:
        return 0
    words = fields.required("vocab_size_per_layer_input")
    return words * n_layers * narrow + hidden * n_layers * narrow + narrow


def per_layer_gate(fields: Fields, hidden: int) -> int:
    """In and out of the narrow row, and a norm."""
    narrow = fields.integer("hidden_size_per_layer_input", least=0) or 0
    return 2 * hidden * narrow + hidden if narrow else 0


def altup(fields: Fields, hidden: int) -> int:
    """Alternating updates: how one layer's copies predict and correct each other."""
    n = fields.required("altup_num_inputs")
    return hidden + n * n + n * n * n + n * hidden + hidden


def laurel(fields: Fields, hidden: int) -> int:
    """A low-rank residual branch and its norm."""
    return 2 * hidden * fields.required("laurel_rank") + hidden


def mlp_widths(fields: Fields, layers: list[Layer]) -> list[int]:
    """One width for all layers, or a list of them."""
    if not isinstance(fields.given("intermediate_size"), list):
        return [fields.defining("intermediate_size")] * len(layers)
    widths = fields.numbers("intermediate_size", least=1) or []
    if len(widths) < len(layers):
        raise BadInput(f"intermediate_size lists {len(widths):,} layers of {len(layers):,}")
    return widths[: len(layers)]


def gemma3n(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    total = ends(fields, hidden, RECIPE) + per_layer_tables(fields, hidden, len(layers))
    total += 2 * (fields.required("altup_num_inputs") - 1) * hidden * hidden
    for layer, width in zip(layers, mlp_widths(fields, layers), strict=True):
        total += attention(fields, layer, layers[layer.owner], hidden, RECIPE) + 4 * hidden
        total += mlp(hidden, width)
        total += altup(fields, hidden) + laurel(fields, hidden) + per_layer_gate(fields, hidden)
    return total


def gemma4(fields: Fields, layers: list[Layer]) -> int:
    """Readers of another layer's cache may have a double MLP; global values may be the keys."""
    hidden = fields.defining("hidden_size")
    inner = fields.defining("intermediate_size")
    total = ends(fields, hidden, RECIPE) + per_layer_tables(fields, hidden, len(layers))
    double = fields.flag("use_double_wide_mlp")
    for layer in layers:
        reads = not layer.holds
        total += attention(fields, layer, layers[layer.owner], hidden, RECIPE) + 4 * hidden
        total -= values_that_are_keys(fields, layer, hidden)
        total += mlp(hidden, inner * (2 if double and reads else 1))
        total += per_layer_gate(fields, hidden) + gemma4_experts(fields, hidden)
    return total


def values_that_are_keys(fields: Fields, layer: Layer, hidden: int) -> int:
    """The value matrix that `attention_k_eq_v` leaves out of global layers."""
    pair = key_and_value(layer, layer)
    absent = fields.flag("attention_k_eq_v") and layer.kind == "full" and layer.holds
    return hidden * pair[1].numbers if absent and pair else 0


def gemma4_experts(fields: Fields, hidden: int) -> int:
    """Experts beside the MLP, with a router, its scales, and three norms more."""
    if not fields.flag("enable_moe_block"):
        return 0
    n_experts = fields.required("num_experts")
    width = fields.required("moe_intermediate_size")
    return n_experts * (mlp(hidden, width) + hidden + 1) + hidden + 3 * hidden


COUNTS: Mapping[str, Count] = {
    "gemma3n_text": gemma3n,
    "gemma4_text": gemma4,
}
