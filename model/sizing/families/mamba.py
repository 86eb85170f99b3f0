"""State-space layers, Mamba 1 and 2, alone or among attention layers."""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.families.attention import Rule, heads_of, layer_count, layer_types
from model.sizing.families.dense import Family
from model.sizing.fields import Fields, whole
from model.sizing.kinds import (
    Heads,
    StateSpace,
    beside,
    convolution,
    full,
    nothing,
    recurrent,
    stateful,
)
from model.sizing.layers import Layer, State


def expansion(fields: Fields, key: str) -> int:
    """The inner width: `expand` times the hidden size (Gu and Dao 2023, arXiv 2312.00752)."""
    return fields.required(key) * fields.defining("hidden_size")


def mamba1_states(inner: int, state: int, kernel: int) -> tuple[State, State]:
    return convolution(inner, kernel), recurrent(inner * state)


def mamba(fields: Fields) -> list[Layer]:
    inner = fields.given("intermediate_size")
    width = expansion(fields, "expand") if inner is None else whole(inner, "intermediate_size")
    states = mamba1_states(width, fields.required("state_size"), fields.required("conv_kernel"))
    return [stateful(i, "mamba", *states) for i in range(layer_count(fields))]


def mamba2(fields: Fields) -> list[Layer]:
    states = mamba2_shape(fields).states()
    return [stateful(i, "mamba2", *states) for i in range(layer_count(fields))]


def mamba2_shape(fields: Fields) -> StateSpace:
    """The sizes as Mamba 2 itself names them."""
    return StateSpace(
        inner=expansion(fields, "expand"),
        groups=fields.required("n_groups"),
        state=fields.required("state_size"),
        kernel=fields.required("conv_kernel"),
        heads=fields.required("num_heads"),
        head_width=fields.required("head_dim"),
    )


def jamba(fields: Fields) -> list[Layer]:
    """One attention layer in every `attn_layer_period`, Mamba 1 elsewhere."""
    heads = heads_of(fields)
    period = fields.required("attn_layer_period")
    offset = fields.required("attn_layer_offset", least=0)
    states = mamba1_states(
        expansion(fields, "mamba_expand"),
        fields.required("mamba_d_state"),
        fields.required("mamba_d_conv"),
    )
    return [
        full(i, heads) if i % period == offset else stateful(i, "mamba", *states)
        for i in range(layer_count(fields))
    ]


def named_shape(fields: Fields, inner: int) -> StateSpace:
    """Mamba 2 as Bamba, Granite 4 and Falcon-H1 name its sizes."""
    heads = fields.required("mamba_n_heads")
    width = fields.given("mamba_d_head")
    if width is None or width == "auto":
        width = inner // heads
    return StateSpace(
        inner=inner,
        groups=fields.required("mamba_n_groups"),
        state=fields.required("mamba_d_state"),
        kernel=fields.required("mamba_d_conv"),
        heads=heads,
        head_width=whole(width, "mamba_d_head"),
    )


def bamba(fields: Fields) -> list[Layer]:
    """Attention at `attn_layer_indices`, Mamba 2 elsewhere."""
    heads = heads_of(fields)
    where = set(fields.numbers("attn_layer_indices") or ())
    states = named_shape(fields, expansion(fields, "mamba_expand")).states()
    n_layers = layer_count(fields)

    def rule(_fields: Fields, n: int) -> list[str]:
        return ["full" if i in where else "linear" for i in range(n)]

    return [
        full(i, heads) if kind == "full" else stateful(i, "mamba2", *states)
        for i, kind in enumerate(layer_types(fields, n_layers, rule))
    ]


def granite_hybrid(fields: Fields) -> list[Layer]:
    """Granite 4: `layer_types` of mamba and attention; all Mamba 2 when it is absent."""
    heads = heads_of(fields)
    kinds = layer_types(fields, layer_count(fields), lambda _f, n: ["linear"] * n)
    if "linear" not in kinds:
        return [full(i, heads) for i in range(len(kinds))]
    states = named_shape(fields, expansion(fields, "mamba_expand")).states()
    return [
        full(i, heads) if kind == "full" else stateful(i, "mamba2", *states)
        for i, kind in enumerate(kinds)
    ]


def falcon_h1(fields: Fields) -> list[Layer]:
    """Attention and Mamba 2 side by side in every layer."""
    heads = heads_of(fields)
    inner = fields.integer("mamba_d_ssm")
    if inner is None:
        inner = expansion(fields, "mamba_expand")
    states = named_shape(fields, inner).states()
    return [beside(full(i, heads), *states) for i in range(layer_count(fields))]


def nemotron_shape(fields: Fields) -> StateSpace:
    """The sizes as Nemotron-H names them, now and in its first files."""
    heads, width = fields.required("mamba_num_heads"), fields.required("mamba_head_dim")
    kernel = fields.given("mamba_d_conv")
    return StateSpace(
        inner=heads * width,
        groups=fields.integer("mamba_n_groups") or fields.required("n_groups"),
        state=fields.required("ssm_state_size"),
        kernel=fields.required("conv_kernel") if kernel is None else whole(kernel, "mamba_d_conv"),
        heads=heads,
        head_width=width,
    )


def nemotron_h(fields: Fields) -> list[Layer]:
    """A pattern in letters: M(amba 2), * (attention), - (MLP), E(xperts)."""
    heads = heads_of(fields)
    states = nemotron_shape(fields).states()
    build = {
        "full": lambda i: full(i, heads),
        "linear": lambda i: stateful(i, "mamba2", *states),
        "mlp": nothing,
    }
    return [build[kind](i) for i, kind in enumerate(nemotron_kinds(fields))]


def nemotron_kinds(fields: Fields) -> list[str]:
    pattern = fields.given("hybrid_override_pattern")
    written = fields.words("layers_block_type") or fields.words("layer_types")
    if written is not None:
        kinds = layer_types(fields, len(written), lambda _f, n: ["linear"] * n)
        if set(kinds) <= {"full", "linear", "mlp"}:
            return kinds
        raise BadInput("layers_block_type of a nemotron_h holds mamba, attention, mlp and moe only")
    letters = {"M": "linear", "*": "full", "-": "mlp", "E": "mlp"}
    if not isinstance(pattern, str) or not pattern or any(c not in letters for c in pattern):
        raise BadInput(
            "hybrid_override_pattern is missing or holds other letters than M, *, - and E: "
            "it says which layers keep a cache"
        )
    count = fields.given("num_hidden_layers")
    if count is not None and whole(count, "num_hidden_layers") != len(pattern):
        raise BadInput(
            f"hybrid_override_pattern spells {len(pattern):,} layers and num_hidden_layers is "
            f"{count:,}: they must agree"
        )
    return [letters[c] for c in pattern]


def zamba_heads(fields: Fields) -> Heads:
    """Attention over the input and the embedding together: twice the hidden width."""
    query = fields.defining("num_attention_heads")
    width = fields.integer("head_dim") or 2 * fields.defining("hidden_size") // query
    kv = fields.integer("num_key_value_heads") or query
    return Heads(query=query, kv=kv, key_width=width, value_width=width)


def zamba_kinds(fields: Fields, n_layers: int) -> list[str]:
    """Zamba 1's rule: three first layers of their own, then a period."""
    period = fields.required("attn_layer_period")
    offset = fields.required("attn_layer_offset", least=0)
    rest = ["hybrid" if i % period == offset else "linear" for i in range(n_layers - 3)]
    return [*["linear", "linear", "hybrid"][:n_layers], *rest]


def zamba(fields: Fields) -> list[Layer]:
    """Shared attention weights, a cache of its own at every use, Mamba 1 in every layer."""
    heads = zamba_heads(fields)
    states = mamba1_states(
        expansion(fields, "mamba_expand"),
        fields.required("mamba_d_state"),
        fields.required("mamba_d_conv"),
    )
    return hybrid_among(fields, heads, states, rule=zamba_kinds, plain="mamba")


def zamba2_kinds(fields: Fields, n_layers: int) -> list[str]:
    where = fields.numbers("hybrid_layer_ids")
    if where is None:
        raise BadInput(
            "layers_block_type (or hybrid_layer_ids) is missing: it says where zamba2 attends"
        )
    return ["hybrid" if i in set(where) else "linear" for i in range(n_layers)]


def zamba2(fields: Fields) -> list[Layer]:
    """As Zamba with Mamba 2; the attention width follows from the hidden size."""
    query = fields.defining("num_attention_heads")
    width = 2 * fields.defining("hidden_size") // query
    kv = fields.integer("num_key_value_heads") or query
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    inner = expansion(fields, "mamba_expand")
    n_heads = fields.required("n_mamba_heads")
    shape = StateSpace(
        inner=inner,
        groups=fields.required("mamba_ngroups"),
        state=fields.required("mamba_d_state"),
        kernel=fields.required("mamba_d_conv"),
        heads=n_heads,
        head_width=inner // n_heads,
    )
    return hybrid_among(fields, heads, shape.states(), rule=zamba2_kinds, plain="mamba2")


def hybrid_among(
    fields: Fields, heads: Heads, states: tuple[State, State], *, rule: Rule, plain: str
) -> list[Layer]:
    """Attention beside the state in hybrid layers, the state alone elsewhere."""
    kinds = layer_types(fields, layer_count(fields), rule)
    return [
        beside(full(i, heads), *states) if kind == "hybrid" else stateful(i, plain, *states)
        for i, kind in enumerate(kinds)
    ]


FAMILIES: Mapping[str, Family] = {
    "bamba": bamba,
    "falcon_h1": falcon_h1,
    "falcon_mamba": mamba,
    "granitemoehybrid": granite_hybrid,
    "jamba": jamba,
    "mamba": mamba,
    "mamba2": mamba2,
    "nemotron_h": nemotron_h,
    "zamba": zamba,
    "zamba2": zamba2,
}
