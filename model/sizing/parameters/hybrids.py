"""Decoders that mix attention with layers that keep a state."""

from collections.abc import Callable, Mapping

from model.sizing.families.mamba import mamba2_shape, nemotron_shape
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
from model.sizing.parameters.parts import matrix, mlp
from model.sizing.parameters.recipes import QWEN_SHARED

Count = Callable[[Fields, list[Layer]], int]
Mixer = Callable[[Fields, int], int]


def mixed(recipe: Recipe, mixer: Mixer, *, beside: bool = False) -> Count:
    """Attention where a layer has rows, `mixer` where it has states, an MLP after each."""

    def count(fields: Fields, layers: list[Layer]) -> int:
        hidden = fields.defining("hidden_size")
        sparse = sparse_layers(fields, recipe, len(layers))
        total = ends(fields, hidden, recipe)
        for layer, is_sparse in zip(layers, sparse, strict=True):
            total += attention(fields, layer, layers[layer.owner], hidden, recipe)
            if layer.states and (beside or not layer.rows):
                total += mixer(fields, hidden)
            total += feed_forward(fields, is_sparse, hidden, recipe)
            total += recipe.norms * hidden * recipe.norm_numbers
        return total

    return count


def mamba_only(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    given = fields.given("intermediate_size")
    inner = (
        fields.required("expand") * hidden if given is None else whole(given, "intermediate_size")
    )
    mixer = states.Mamba1(
        inner=inner,
        state=fields.required("state_size"),
        kernel=fields.required("conv_kernel"),
        rank=states.step_rank(fields, "time_step_rank", hidden),
        bias=fields.flag("use_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
    )
    each = mixer.weights(hidden)
    return ends(fields, hidden, Recipe()) + len(layers) * (each + hidden)


def mamba2_only(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    each = states.mamba2(
        hidden,
        mamba2_shape(fields),
        bias=fields.flag("use_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        norm=True,
    )
    return ends(fields, hidden, Recipe()) + len(layers) * (each + hidden)


def jamba_mixer(fields: Fields, hidden: int) -> int:
    """Mamba 1 with norms on the time step, B and C."""
    state = fields.required("mamba_d_state")
    rank = states.step_rank(fields, "mamba_dt_rank", hidden)
    mixer = states.Mamba1(
        inner=fields.required("mamba_expand") * hidden,
        state=state,
        kernel=fields.required("mamba_d_conv"),
        rank=rank,
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("mamba_conv_bias", otherwise=True),
    )
    return rank + 2 * state + mixer.weights(hidden)


def bamba_mixer(fields: Fields, hidden: int) -> int:
    inner = fields.required("mamba_expand") * hidden
    return states.named_mamba2(fields, hidden, inner=inner, norm=True)


def falcon_h1_mixer(fields: Fields, hidden: int) -> int:
    inner = fields.integer("mamba_d_ssm") or fields.required("mamba_expand") * hidden
    return states.named_mamba2(fields, hidden, inner=inner, norm=fields.flag("mamba_rms_norm"))


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
        mixer = bamba_mixer(fields, hidden) if layer.states else 0
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
            total += nemotron_mamba(fields, hidden)
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


def nemotron_mamba(fields: Fields, hidden: int) -> int:
    return states.mamba2(
        hidden,
        nemotron_shape(fields),
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        norm=True,
    )


def nemotron_experts(fields: Fields, hidden: int) -> int:
    shared = fields.required("n_shared_experts", least=0) * fields.required(
        "moe_shared_expert_intermediate_size", least=0
    )
    narrow = fields.integer("moe_latent_size")
    n_experts, width = fields.required("num_experts"), fields.required("moe_intermediate_size")
    each = mlp(narrow or hidden, width, gated=False)
    around = 2 * hidden * narrow if narrow else 0
    return n_experts * (each + hidden) + around + mlp(hidden, shared, gated=False)


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


def kimi_linear(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    recipe = Recipe(
        experts=Experts(
            sparse=after_first("first_k_dense_replace", 1), shared=shared_times("n_shared_experts")
        )
    )
    sparse = sparse_layers(fields, recipe, len(layers))
    total = ends(fields, hidden, recipe)
    for layer, is_sparse in zip(layers, sparse, strict=True):
        if layer.states:
            total += states.kimi_delta(fields, hidden)
        else:
            total += latent_attention(fields, hidden)
        total += feed_forward(fields, is_sparse, hidden, recipe) + 2 * hidden
    return total


def minimax(fields: Fields, layers: list[Layer]) -> int:
    """Lightning layers: queries, keys, values, a gate and a norm, all of full width."""
    hidden = fields.defining("hidden_size")
    recipe = Recipe(experts=Experts(width="intermediate_size"))
    total = ends(fields, hidden, recipe)
    inner = attention_width(layers)
    for layer in layers:
        total += attention(fields, layer, layers[layer.owner], hidden, recipe) + 2 * hidden
        total += feed_forward(fields, True, hidden, recipe)  # noqa: FBT003
        if layer.states:
            total += matrix(hidden, 3 * inner) + 2 * matrix(inner, hidden) + inner
    return total


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
COUNTS: Mapping[str, Count] = {
    "bamba": mixed(
        Recipe(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias"),
        bamba_mixer,
    ),
    "falcon_h1": mixed(
        Recipe(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias"),
        falcon_h1_mixer,
        beside=True,
    ),
    "falcon_mamba": mamba_only,
    "granitemoehybrid": granite_hybrid,
    "jamba": mixed(
        Recipe(experts=Experts(width="intermediate_size", sparse=jamba_period)), jamba_mixer
    ),
    "kimi_linear": kimi_linear,
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
    "mamba": mamba_only,
    "mamba2": mamba2_only,
    "minimax": minimax,
    "nemotron_h": nemotron_h,
    "qwen3_5_moe_text": mixed(QWEN35_MOE, states.gated_delta),
    "qwen3_5_text": mixed(QWEN35, states.gated_delta),
    "qwen3_next": mixed(QWEN_NEXT, states.gated_delta),
}
