"""Decoders whose layers differ in heads or widths: Gemma 3 to 4, MiMo, Falcon, OpenELM, Step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.errors import BadInput
from model.sizing.families import patterns
from model.sizing.families.attention import (
    check_groups,
    head_width,
    heads_of,
    kv_heads,
    layer_count,
    layer_types,
    needed_window,
    query_heads,
)
from model.sizing.families.dense import Family, decoder, one_layer
from model.sizing.fields import Fields, whole
from model.sizing.kinds import Heads, full, reuse, windowed
from model.sizing.layers import Layer, Rows


def halved_when_bidirectional(fields: Fields) -> int:
    """Gemma's window, which its code halves for bidirectional (embedding) use."""
    window = needed_window(fields)
    if fields.given("use_bidirectional_attention") in (True, "all"):
        return window // 2 + 1
    return window


def gemma3(fields: Fields) -> list[Layer]:
    """Five sliding layers, then a full one (arXiv 2503.19786)."""
    heads = heads_of(fields)
    window = halved_when_bidirectional(fields)
    kinds = layer_types(fields, layer_count(fields), patterns.every(6))
    return [
        windowed(i, heads, window) if kind == "sliding" else one_layer(fields, i, kind, heads)
        for i, kind in enumerate(kinds)
    ]


def reuse_last(fields: Fields, layers: Sequence[Layer]) -> list[Layer]:
    """Gemma 3n and 4: the last `num_kv_shared_layers` read the newest owner of their own type."""
    n_shared = fields.integer("num_kv_shared_layers", least=0) or 0
    if n_shared > len(layers):
        raise BadInput(
            f"num_kv_shared_layers is {n_shared:,} and there are {len(layers):,} layers: "
            "some layer must own a cache"
        )
    first = len(layers) - n_shared
    newest = {layer.kind: layer.index for layer in layers[:first]}
    return [
        layer
        if layer.index < first
        else reuse(layer.index, newest.get(layer.kind, layer.index), layer.kind, layer.query_heads)
        for layer in layers
    ]


def gemma3n(fields: Fields) -> list[Layer]:
    return reuse_last(fields, decoder(patterns.every(5))(fields))


def gemma4(fields: Fields) -> list[Layer]:
    """Global layers have heads of their own: 512 wide, sometimes fewer of them."""
    n_layers = layer_count(fields)
    local = heads_of(fields)
    window = halved_when_bidirectional(fields)
    kinds = layer_types(fields, n_layers, patterns.every(6, last_is_full=True))
    kinds[-1] = "full"  # the class forces it
    layers = []
    for i, kind in enumerate(kinds):
        if kind == "sliding":
            layers.append(windowed(i, overridden(fields, i, local), window))
        else:
            layers.append(full(i, overridden(fields, i, gemma4_global(fields, local))))
    return reuse_last(fields, layers)


def gemma4_global(fields: Fields, local: Heads) -> Heads:
    if fields.table("per_layer_config"):
        return local
    width = fields.integer_or("global_head_dim", 512, "the rule of gemma4")
    kv = fields.integer("num_global_key_value_heads")
    if kv is None or not fields.flag("attention_k_eq_v", otherwise=True):
        kv = local.kv
    return replace(local, kv=check_groups(local.query, kv), key_width=width, value_width=width)


def overridden(fields: Fields, index: int, heads: Heads) -> Heads:
    """The heads of one layer after `per_layer_config`, which newer files use."""
    entry = fields.table("per_layer_config").get(str(index))
    if not isinstance(entry, Mapping):
        return heads
    width = entry_number(entry, "head_dim", heads.key_width)
    query = entry_number(entry, "num_attention_heads", heads.query)
    kv = entry_number(entry, "num_key_value_heads", heads.kv)
    return Heads(query=query, kv=check_groups(query, kv), key_width=width, value_width=width)


def entry_number(entry: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = entry.get(name)
    return otherwise if value is None else whole(value, name)


def mimo(fields: Fields) -> list[Layer]:
    """MiMo-V2: values narrower than keys; windowed layers with twice the key/value heads."""
    query = query_heads(fields)
    wide = Heads(
        query=query,
        kv=kv_heads(fields, query),
        key_width=head_width(fields, query),
        value_width=fields.required("v_head_dim"),
    )
    narrow = Heads(
        query=fields.integer("swa_num_attention_heads") or query,
        kv=fields.integer_or("swa_num_key_value_heads", 2 * wide.kv, "twice num_key_value_heads"),
        key_width=fields.integer("swa_head_dim") or wide.key_width,
        value_width=fields.integer("swa_v_head_dim") or wide.value_width,
    )
    window = mimo_window(fields)
    kinds = layer_types(fields, layer_count(fields), patterns.mimo)
    return [
        full(i, wide) if kind == "full" else in_transformers_too(windowed(i, narrow, window))
        for i, kind in enumerate(kinds)
    ]


def mimo_window(fields: Fields) -> int:
    """The tokens before the current one; transformers' `sliding_window` counts that one too."""
    given = fields.values.get("sliding_window_size")
    if given is not None:
        return whole(given, "sliding_window_size")
    given = fields.values.get("sliding_window")
    if given is not None:
        return max(whole(given, "sliding_window") - 1, 1)
    fields.assume("sliding_window_size", 128, "class default of mimo_v2_flash")
    return 128


def in_transformers_too(layer: Layer) -> Layer:
    """The library keeps a window of 129 less one: the same 128."""
    return replace(
        layer,
        holds=tuple(
            replace(r, in_transformers=replace(r, window=(r.window or 0) + 1))
            for r in layer.holds
            if isinstance(r, Rows)
        ),
    )


def step3p5(fields: Fields) -> list[Layer]:
    """Step 3.5: sliding layers may have heads of their own."""
    heads = heads_of(fields)
    other = fields.table("attention_other_setting")
    query = entry_number(other, "num_attention_heads", heads.query)
    kv = entry_number(other, "num_attention_groups", heads.kv)
    sliding = replace(heads, query=query, kv=check_groups(query, kv))
    kinds = layer_types(fields, layer_count(fields), patterns.all_full)
    return [
        one_layer(fields, i, kind, sliding if kind == "sliding" else heads)
        for i, kind in enumerate(kinds)
    ]


FAMILIES: Mapping[str, Family] = {
    "diffusion_gemma_text": gemma4,
    "gemma3_text": gemma3,
    "gemma3n_text": gemma3n,
    "gemma4_text": gemma4,
    "gemma4_unified_text": gemma4,
    "mimo_v2_flash": mimo,
    "step3p5": step3p5,
}
