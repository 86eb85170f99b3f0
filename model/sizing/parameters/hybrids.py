"""Decoders that mix attention with layers that keep a state."""

from collections.abc import Callable, Mapping

from model.sizing.fields import Fields, whole
from model.sizing.layers import Layer
from model.sizing.parameters import states
from model.sizing.parameters.decoder import (
    Recipe,
    attention,
    ends,
    feed_forward,
    sparse_layers,
)
from model.sizing.parameters.experts import (
    Experts,
    after_first,
    jamba_period,
    shared_times,
    shared_width,
)
from model.sizing.parameters.latent import latent_attention
from model.sizing.parameters.mixers import (
    AnyMixer,
    Mixer,
    bamba_mixer,
    delta_mixer,
    falcon_h1_mixer,
    jamba_mixer,
    mamba2_mixer,
    mamba_mixer,
    nemotron_mixer,
)
from model.sizing.parameters.parts import matrix, mlp
from model.sizing.parameters.recipes import QWEN_SHARED

Count = Callable[[Fields, list[Layer]], int]


def mixed(recipe: Recipe, mixer: Mixer, *, beside: bool = False, norms: bool = False) -> Count:
    """Attention where a layer has rows, `mixer` where it has states, an MLP after each."""

    def count(fields: Fields, layers: list[Layer]) -> int:
        hidden = fields.defining("hidden_size")
        sparse = sparse_layers(fields, recipe, len(layers))
        total = ends(fields, hidden, recipe)
        for layer, is_sparse in zip(layers, sparse, strict=True):
            total += attention(fields, layer, layers[layer.owner], hidden, recipe)
            if layer.states and (beside or not layer.rows):
                found = mixer(fields, hidden)
                total += found.weights(hidden)
                total += inner_norms(found) if norms else 0
            total += feed_forward(fields, is_sparse, hidden, recipe)
            total += recipe.norms * hidden * recipe.norm_numbers
        return total

    return count


def inner_norms(mixer: AnyMixer) -> int:
    """Jamba's norms on the time step, B and C."""
    return mixer.rank + 2 * mixer.state if isinstance(mixer, states.Mamba1) else 0


def alone(mixer: Mixer) -> Count:
    """A mixer and a norm in every layer, nothing else."""

    def count(fields: Fields, layers: list[Layer]) -> int:
        hidden = fields.defining("hidden_size")
        each = mixer(fields, hidden).weights(hidden)
        return ends(fields, hidden, Recipe()) + len(layers) * (each + hidden)

    return count


def granite_hybrid(fields: Fields, layers: list[Layer]) -> int:
    """Granite 4: a shared MLP in every layer, experts beside it where there are any."""
    hidden = fields.defining("hidden_size")
    recipe = Recipe(qkv_bias="attention_bias", out_bias="attention_bias")
    n_experts = fields.integer("num_experts", least=0) or 0
    after = mlp(hidden, fields.required("shared_intermediate_size"))
    if n_experts:
        after += Experts(width="intermediate_size").weights(fields, hidden)
    total = ends(fields, hidden, recipe)
    for layer in layers:
        mixer = bamba_mixer(fields, hidden).weights(hidden) if layer.states else 0
        total += (
            attention(fields, layer, layers[layer.owner], hidden, recipe)
            + mixer
            + after
            + 2 * hidden
        )
    return total


def nemotron_h(fields: Fields, layers: list[Layer]) -> int:
    """One mixer a layer: Mamba 2, attention, an MLP or experts, each after one norm."""
    hidden = fields.defining("hidden_size")
    recipe = Recipe(qkv_bias="attention_bias", out_bias="attention_bias")
    total = ends(fields, hidden, recipe) + len(layers) * hidden
    for layer, letter in zip(layers, nemotron_letters(fields, layers), strict=True):
        if layer.states:
            total += nemotron_mixer(fields, hidden).weights(hidden)
        elif layer.rows:
            total += attention(fields, layer, layers[layer.owner], hidden, recipe)
        elif letter == "E":
            total += nemotron_experts(fields, hidden)
        else:
            inner = fields.required("intermediate_size")
            total += mlp(hidden, inner, gated=False, bias=fields.flag("mlp_bias"))
    return total


def nemotron_letters(fields: Fields, layers: list[Layer]) -> str:
    """The pattern's letters; E marks experts, which keep nothing either."""
    pattern = fields.given("hybrid_override_pattern")
    if isinstance(pattern, str) and len(pattern) == len(layers):
        return pattern
    written = fields.words("layers_block_type") or fields.words("layer_types") or []
    return "".join("E" if kind == "moe" else "-" for kind in written).ljust(len(layers), "-")


def nemotron_shared(fields: Fields) -> int:
    return fields.required("n_shared_experts", least=0) * fields.required(
        "moe_shared_expert_intermediate_size", least=0
    )


def nemotron_experts(fields: Fields, hidden: int) -> int:
    narrow = fields.integer("moe_latent_size")
    n_experts, width = fields.required("num_experts"), fields.required("moe_intermediate_size")
    each = mlp(narrow or hidden, width, gated=False)
    around = 2 * hidden * narrow if narrow else 0
    return n_experts * (each + hidden) + around + mlp(hidden, nemotron_shared(fields), gated=False)


def lfm2(fields: Fields, layers: list[Layer]) -> int:
    """LFM2: the MLP width is adjusted from the stated one, unless told not to."""
    hidden = fields.defining("hidden_size")
    recipe = Recipe(qk_norm="head")
    inner = lfm2_width(fields)
    dense = fields.integer("num_dense_layers", least=0)
    total = ends(fields, hidden, recipe)
    for layer in layers:
        total += attention(fields, layer, layers[layer.owner], hidden, recipe) + 2 * hidden
        total += states.short_convolution(fields, hidden) if layer.states else 0
        if dense is None or layer.index < dense:
            total += mlp(hidden, inner)
        else:
            total += Experts().weights(fields, hidden)
    return total


def lfm2_width(fields: Fields) -> int:
    stated = fields.given("block_ff_dim")
    width = (
        fields.defining("intermediate_size") if stated is None else whole(stated, "block_ff_dim")
    )
    if fields.given("num_dense_layers") is not None or fields.default("num_dense_layers"):
        return width
    if not fields.flag("block_auto_adjust_ff_dim", otherwise=True):
        return width
    if fields.is_null("block_ffn_dim_multiplier"):
        return int(2 * width / 3)
    factor = fields.given("block_ffn_dim_multiplier")
    factor = factor if isinstance(factor, (int, float)) and 0 < factor < 100 else 1.0  # noqa: PLR2004
    multiple = fields.integer("block_multiple_of") or 256
    return -(-int(factor * int(2 * width / 3)) // multiple) * multiple


KIMI = Recipe(
    experts=Experts(
        sparse=after_first("first_k_dense_replace", 1), shared=shared_times("n_shared_experts")
    )
)


def kimi_linear(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    sparse = sparse_layers(fields, KIMI, len(layers))
    total = ends(fields, hidden, KIMI)
    for layer, is_sparse in zip(layers, sparse, strict=True):
        if layer.states:
            total += states.kimi_delta(fields).weights(hidden)
        else:
            total += latent_attention(fields, hidden)
        total += feed_forward(fields, is_sparse, hidden, KIMI) + 2 * hidden
    return total


MINIMAX = Recipe(experts=Experts(width="intermediate_size"))


def minimax(fields: Fields, layers: list[Layer]) -> int:
    """Lightning layers: queries, keys, values, a gate and a norm, all of full width."""
    hidden = fields.defining("hidden_size")
    total = ends(fields, hidden, MINIMAX)
    inner = attention_width(layers)
    for layer in layers:
        total += attention(fields, layer, layers[layer.owner], hidden, MINIMAX) + 2 * hidden
        total += feed_forward(fields, True, hidden, MINIMAX)  # noqa: FBT003
        if layer.states:
            total += lightning(hidden, inner) + inner
    return total


def lightning(hidden: int, inner: int) -> int:
    """Queries, keys, values; a gate and the way out."""
    return matrix(hidden, 3 * inner) + 2 * matrix(inner, hidden)


def attention_width(layers: list[Layer]) -> int:
    for layer in layers:
        if layer.rows and layer.query_heads:
            return layer.query_heads * layer.rows[0].width
    return 0


QWEN_NEXT = Recipe(
    qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", query_gate=True,
    experts=QWEN_SHARED,
)  # fmt: skip
QWEN35 = Recipe(
    qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", query_gate=True
)
QWEN35_MOE = Recipe(
    qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", query_gate=True,
    experts=Experts(shared=shared_width("shared_expert_intermediate_size"), shared_gate=True),
)  # fmt: skip
BIASED = Recipe(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
JAMBA = Recipe(experts=Experts(width="intermediate_size", sparse=jamba_period))
MIXED: Mapping[str, tuple[Recipe, Mixer]] = {
    "bamba": (BIASED, bamba_mixer),
    "falcon_h1": (BIASED, falcon_h1_mixer),
    "jamba": (JAMBA, jamba_mixer),
    "qwen3_5_moe_text": (QWEN35_MOE, delta_mixer),
    "qwen3_5_text": (QWEN35, delta_mixer),
    "qwen3_next": (QWEN_NEXT, delta_mixer),
}
"""Attention in some layers, a state in the others (or beside), an MLP or experts after each."""
ALONE: Mapping[str, Mixer] = {
    "falcon_mamba": mamba_mixer,
    "mamba": mamba_mixer,
    "mamba2": mamba2_mixer,
}
COUNTS: Mapping[str, Count] = {
    **{
        name: mixed(recipe, mixer, beside=name == "falcon_h1", norms=name == "jamba")
        for name, (recipe, mixer) in MIXED.items()
    },
    **{name: alone(mixer) for name, mixer in ALONE.items()},
    "granitemoehybrid": granite_hybrid,
    "kimi_linear": kimi_linear,
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
    "minimax": minimax,
    "nemotron_h": nemotron_h,
}
