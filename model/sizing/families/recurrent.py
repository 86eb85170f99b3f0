"""Other layers of fixed memory: lightning attention, RG-LRU, RWKV, xLSTM, short convolutions."""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.families.attention import (
    head_width,
    heads_of,
    layer_count,
    layer_types,
    needed_window,
)
from model.sizing.families.dense import Family, one_layer
from model.sizing.fields import Fields
from model.sizing.kinds import Heads, beside, convolution, full, recurrent, stateful, windowed
from model.sizing.layers import Layer, State


def minimax(fields: Fields) -> list[Layer]:
    """Lightning attention: one square matrix a head, in the model's own type."""
    heads = heads_of(fields)
    state = recurrent(heads.query * heads.key_width * heads.key_width, stored_as="model")
    written = fields.numbers("attn_type_list")

    def rule(_fields: Fields, n: int) -> list[str]:
        if written is not None and len(written) == n:
            return ["full" if v else "linear" for v in written]
        if written is not None:
            raise BadInput(f"attn_type_list lists {len(written):,} layers, num_hidden_layers {n:,}")
        fields.assume("layer_types", "full at even layers", "the rule of minimax")
        return ["full" if (i + 1) % 2 else "linear" for i in range(n)]

    kinds = layer_types(fields, layer_count(fields), rule)
    return [
        full(i, heads) if kind == "full" else stateful(i, "lightning", state)
        for i, kind in enumerate(kinds)
    ]


def recurrent_gemma(fields: Fields) -> list[Layer]:
    """Griffin: two recurrent blocks, then local attention; the convolution keeps kernel - 1."""
    heads = heads_of(fields)
    width = fields.integer("lru_width") or fields.defining("hidden_size")
    kernel = fields.required("conv1d_width")
    tail = convolution(fields.defining("hidden_size"), kernel - 1)
    states = (
        State(
            name=tail.name,
            numbers=tail.numbers,
            numbers_without_newest=tail.numbers,
            stored_as="model",
        ),
        recurrent(width),
    )
    period = fields.words("block_types") or ["recurrent", "recurrent", "attention"]
    window = needed_window(fields)

    def rule(_fields: Fields, n: int) -> list[str]:
        return ["sliding" if period[i % len(period)] == "attention" else "linear" for i in range(n)]

    kinds = layer_types(fields, layer_count(fields), rule)
    return [
        stateful(i, "rg-lru", *states) if kind == "linear" else windowed(i, heads, window)
        for i, kind in enumerate(kinds)
    ]


def rwkv(fields: Fields) -> list[Layer]:
    """RWKV-4: two token shifts in the model's type, three running sums in 32 bits."""
    hidden = fields.defining("hidden_size")
    inner = fields.integer("attention_hidden_size") or hidden
    shifts = recurrent(2 * hidden, stored_as="model")
    return [stateful(i, "rwkv", shifts, recurrent(3 * inner)) for i in range(layer_count(fields))]


def xlstm(fields: Fields) -> list[Layer]:
    """xLSTM: a matrix, a vector and a number for each head (arXiv 2405.04517)."""
    hidden, heads = fields.defining("hidden_size"), fields.required("num_heads")
    query = rounded_up(hidden, fields, "qk_dim_factor") // heads
    value = rounded_up(hidden, fields, "v_dim_factor") // heads
    state = recurrent(heads * (query * value + query + 1), stored_as="model")
    return [stateful(i, "xlstm", state) for i in range(layer_count(fields))]


def rounded_up(hidden: int, fields: Fields, name: str, multiple: int = 64) -> int:
    """`hidden` times a factor, up to the next multiple of 64."""
    factor = fields.given(name)
    factor = fields.default(name) if factor is None else factor
    if not isinstance(factor, (int, float)) or isinstance(factor, bool) or not 0 < factor <= 8:  # noqa: PLR2004
        raise BadInput(f"{name} is {str(factor)[:20]}: it must be a number above 0, up to 8")
    return -(-int(hidden * factor) // multiple) * multiple


def lfm2(fields: Fields) -> list[Layer]:
    """Short convolutions with attention at `full_attn_idxs` or as `layer_types` says."""
    heads = heads_of(fields)
    tail = convolution(fields.defining("hidden_size"), fields.required("conv_L_cache"))
    where = fields.numbers("full_attn_idxs")

    def rule(_fields: Fields, n: int) -> list[str]:
        if where is None:
            raise BadInput("layer_types (or full_attn_idxs) is missing: it says where LFM2 attends")
        return ["full" if i in set(where) else "conv" for i in range(n)]

    return convolved(fields, layer_types(fields, layer_count(fields), rule), tail, heads)


def convolved(fields: Fields, kinds: list[str], tail: State, heads: Heads) -> list[Layer]:
    return [
        stateful(i, "conv", tail) if kind == "conv" else one_layer(fields, i, kind, heads)
        for i, kind in enumerate(kinds)
    ]


def lfm3(fields: Fields) -> list[Layer]:
    heads = heads_of(fields)
    tail = convolution(fields.defining("hidden_size"), fields.required("conv_L_cache"))

    def rule(_fields: Fields, n: int) -> list[str]:
        kinds = {2: "full", 0: "sliding"}
        return [kinds.get(i % 4, "conv") if i else "conv" for i in range(n)]

    return convolved(fields, layer_types(fields, layer_count(fields), rule), tail, heads)


def zaya(fields: Fields) -> list[Layer]:
    """ZAYA: keys and values beside a convolution over queries and keys, and half a value."""
    heads = heads_of(fields)
    channels = (heads.query + heads.kv) * head_width(fields, heads.query)
    kernel = fields.required("cca_time0") + fields.required("cca_time1") - 2
    tail = recurrent(channels * kernel, stored_as="model")
    delayed = recurrent(heads.kv * heads.key_width // 2, stored_as="model")

    def rule(_fields: Fields, n: int) -> list[str]:
        return ["hybrid"] * n

    layers = []
    for i, kind in enumerate(layer_types(fields, layer_count(fields), rule)):
        plain = windowed(i, heads, needed_window(fields)) if "sliding" in kind else full(i, heads)
        layers.append(beside(plain, tail, delayed))
    return layers


FAMILIES: Mapping[str, Family] = {
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
    "lfm3": lfm3,
    "minimax": minimax,
    "recurrent_gemma": recurrent_gemma,
    "rwkv": rwkv,
    "xlstm": xlstm,
    "zaya": zaya,
}
