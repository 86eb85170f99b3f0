"""Layers with a matrix for a memory: gated delta nets and Kimi's, among attention layers."""

from collections.abc import Mapping

from model.sizing.families.attention import (
    heads_of,
    layer_count,
    layer_types,
)
from model.sizing.families.dense import Family, one_layer
from model.sizing.families.mla import index_owners, widths
from model.sizing.fields import Fields, whole
from model.sizing.kinds import (
    convolution,
    full,
    latent,
    recurrent,
    stateful,
    with_index,
)
from model.sizing.layers import Layer, State


def delta_states(*, key: int, value: int, state: int, kernel: int) -> tuple[State, State]:
    """A convolution over queries, keys and values, and a matrix per head (arXiv 2412.06464)."""
    return convolution(2 * key + value, kernel), recurrent(state)


def gated_delta(fields: Fields) -> tuple[State, State]:
    """The sizes as Qwen3-Next, Qwen3.5 and OLMo Hybrid name them."""
    key_heads = fields.required("linear_num_key_heads")
    key_width = fields.required("linear_key_head_dim")
    value_heads = fields.required("linear_num_value_heads")
    value_width = fields.required("linear_value_head_dim")
    return delta_states(
        key=key_heads * key_width,
        value=value_heads * value_width,
        state=value_heads * key_width * value_width,
        kernel=fields.required("linear_conv_kernel_dim"),
    )


def full_every(fields: Fields, n_layers: int) -> list[str]:
    """Full attention at every `full_attention_interval`-th layer, 4 unless given."""
    period = fields.integer_or("full_attention_interval", 4, f"the rule of {fields.model_type}")
    return ["linear" if (i + 1) % period else "full" for i in range(n_layers)]


def qwen3_next(fields: Fields) -> list[Layer]:
    heads = heads_of(fields)
    states = gated_delta(fields)
    kinds = layer_types(fields, layer_count(fields), full_every)
    return [
        stateful(i, "gated delta", *states)
        if kind == "linear"
        else one_layer(fields, i, kind, heads)
        for i, kind in enumerate(kinds)
    ]


def olmo_hybrid(fields: Fields) -> list[Layer]:
    """Delta heads follow the attention heads unless given."""
    heads = heads_of(fields)
    key_heads = fields.integer("linear_num_key_heads") or heads.query
    value_heads = fields.integer("linear_num_value_heads") or heads.query
    hidden = fields.defining("hidden_size")
    key_width = fields.integer("linear_key_head_dim") or int(0.75 * hidden / key_heads)
    value_width = fields.integer("linear_value_head_dim") or 2 * key_width
    states = delta_states(
        key=key_heads * key_width,
        value=value_heads * value_width,
        state=value_heads * key_width * value_width,
        kernel=fields.required("linear_conv_kernel_dim"),
    )
    kinds = layer_types(fields, layer_count(fields), olmo_rule)
    return [
        full(i, heads) if kind == "full" else stateful(i, "gated delta", *states)
        for i, kind in enumerate(kinds)
    ]


def olmo_rule(_fields: Fields, n_layers: int) -> list[str]:
    kinds = ["full" if i % 4 == 3 else "linear" for i in range(n_layers)]  # noqa: PLR2004
    if "full" not in kinds:
        kinds[-1] = "full"
    return kinds


def lara_rule(_fields: Fields, n_layers: int) -> list[str]:
    period = ["linear", "sliding", "linear", "full", "sliding"]
    return [period[i % len(period)] for i in range(n_layers)]


def lara(fields: Fields) -> list[Layer]:
    heads = heads_of(fields)
    states = gated_delta(fields)
    kinds = layer_types(fields, layer_count(fields), lara_rule)
    return [
        stateful(i, "gated delta", *states)
        if kind == "linear"
        else one_layer(fields, i, kind, heads)
        for i, kind in enumerate(kinds)
    ]


def kimi_states(heads: int, width: int, kernel: int) -> tuple[State, State]:
    """Kimi delta attention: as many key as value heads, one width (arXiv 2510.26692)."""
    inner = heads * width
    return delta_states(key=inner, value=inner, state=heads * width * width, kernel=kernel)


def kimi_linear(fields: Fields) -> list[Layer]:
    """Latent attention among delta layers; `linear_attn_config` counts layers from one."""
    n_layers = layer_count(fields)
    inner = fields.inside("linear_attn_config")
    shape = widths(fields)
    states = kimi_states(
        inner.integer("num_heads") or fields.required("linear_num_heads"),
        inner.integer("head_dim") or fields.required("linear_head_dim"),
        inner.integer("short_conv_kernel_size") or fields.required("linear_conv_kernel_dim"),
    )
    where = inner.numbers("full_attn_layers", least=1)

    def rule(_fields: Fields, n: int) -> list[str]:
        if where is not None:
            return ["full" if i + 1 in set(where) else "linear" for i in range(n)]
        fields.assume("layer_types", "full every fourth after 0", "the rule of kimi_linear")
        return ["full" if i and i % 4 == 0 else "linear" for i in range(n)]

    kinds = layer_types(fields, n_layers, rule)
    return [
        latent(i, shape) if kind == "full" else stateful(i, "kimi delta", *states)
        for i, kind in enumerate(kinds)
    ]


def bailing_hybrid(fields: Fields) -> list[Layer]:
    """Ling 2.5: delta layers with one latent layer at the end of each group."""
    shape = widths(fields)
    width = fields.required("head_dim")
    states = kimi_states(shape.heads, width, fields.required("short_conv_kernel_size"))
    period = fields.required("layer_group_size")

    def rule(_fields: Fields, n: int) -> list[str]:
        return ["linear" if (i + 1) % period else "full" for i in range(n)]

    kinds = layer_types(fields, layer_count(fields), rule)
    return [
        latent(i, shape) if kind == "full" else stateful(i, "kimi delta", *states)
        for i, kind in enumerate(kinds)
    ]


def minimax_m3(fields: Fields) -> list[Layer]:
    """MiniMax M3: sparse layers add an index key to the keys and values."""
    heads = heads_of(fields)
    config = fields.table("sparse_attention_config")
    width = config.get("sparse_index_dim") or fields.given("index_head_dim")
    frequency = config.get("sparse_attention_freq")

    def rule(_fields: Fields, n: int) -> list[str]:
        if isinstance(frequency, list) and len(frequency) == n:
            return ["minimax_m3_sparse" if v else "full" for v in frequency]
        return ["full"] * n

    kinds = layer_types(fields, layer_count(fields), rule)
    if width is None and "minimax_m3_sparse" in kinds:
        width = fields.required("index_head_dim")
    return [
        with_index(full(i, heads), whole(width, "index_head_dim"))
        if kind == "minimax_m3_sparse"
        else full(i, heads)
        for i, kind in enumerate(kinds)
    ]


def glm5_next(fields: Fields) -> list[Layer]:
    """GLM-5 Next: delta layers in three of four, indexed latents in the fourth."""
    n_layers = layer_count(fields)
    inner = fields.inside("linear_attn_config")
    shape, index = widths(fields), fields.required("index_head_dim")
    states = kimi_states(
        inner.integer("num_heads") or fields.required("linear_num_heads"),
        inner.integer("head_dim") or fields.required("linear_head_dim"),
        inner.integer("short_conv_kernel_size") or fields.required("linear_conv_kernel_dim"),
    )
    kinds = layer_types(
        fields,
        n_layers,
        lambda _f, n: ["linear" if i % 4 != 3 else "full" for i in range(n)],  # noqa: PLR2004
    )
    owns = index_owners(fields, n_layers)
    layers = []
    for i, kind in enumerate(kinds):
        if kind == "linear":
            layers.append(stateful(i, "kimi delta", *states))
        else:
            plain = latent(i, shape)
            layers.append(with_index(plain, index) if owns[i] else plain)
    return layers


FAMILIES: Mapping[str, Family] = {
    "bailing_hybrid": bailing_hybrid,
    "glm5_next_text": glm5_next,
    "kimi_linear": kimi_linear,
    "lara_mini": lara,
    "minimax_m3_vl_text": minimax_m3,
    "olmo_hybrid": olmo_hybrid,
    "qwen3_5_moe_text": qwen3_next,
    "qwen3_5_text": qwen3_next,
    "qwen3_next": qwen3_next,
}
