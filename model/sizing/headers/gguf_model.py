"""From a GGUF header to a `Model`: settings say the sizes, tensor names who keeps what."""

import re
from collections.abc import Mapping
from typing import Any

from model.errors import BadInput
from model.sizing.families.attention import check_groups
from model.sizing.families.patterns import spread
from model.sizing.fields import Fields, whole
from model.sizing.headers.gguf import Header
from model.sizing.kinds import (
    Heads,
    Latent,
    beside,
    convolution,
    full,
    latent,
    nothing,
    recurrent,
    reuse,
    stateful,
    windowed,
)
from model.sizing.layers import Layer, Model, State

PERIODS = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "cohere2": 4, "gpt-oss": 2, "exaone4": 4}
"""Full layers by period, where llama.cpp's code has it and the file does not."""
REFUSED = ("t5", "t5encoder", "rwkv6", "rwkv7", "arwkv7", "kimi-linear", "deepseek4", "whisper")
STATES = ("ssm_conv1d", "ssm_in", "ssm_a")
ATTENTION = ("attn_k", "attn_qkv", "attn_kv_a_mqa", "attn_kv_b", "attn_k_b")


def model_of(header: Header, name: str) -> Model:
    """What the file's model keeps, its weights counted tensor by tensor."""
    arch = header.settings.get("general.architecture")
    if not isinstance(arch, str) or not arch:
        raise BadInput(f"{name} does not say general.architecture")
    if arch in REFUSED:
        raise BadInput(
            f"{name} is of architecture {arch}, whose GGUF is not read: give config.json"
        )
    fields = settings_of(header.settings, arch)
    layers = layers_of(fields, arch, blocks_of(header), name)
    if not any(layer.holds for layer in layers):
        raise BadInput(f"{name} lists no tensor of a layer that would keep a cache")
    title = header.settings.get("general.name")
    return Model(
        name=title[:80] if isinstance(title, str) and title else name,
        model_type=arch,
        layers=tuple(layers),
        parameters=sum(t.numbers for t in header.tensors),
        max_tokens=fields.peek("context_length"),
        stored_weight_bytes=sum(t.n_bytes for t in header.tensors),
        source=f"header of {name}",
        assumed=tuple(fields.assumed.values()),
        warnings=tuple(fields.warnings),
    )


def settings_of(settings: Mapping[str, Any], arch: str) -> Fields:
    """The architecture's settings without its name before them."""
    prefix = f"{arch}."
    own = {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}
    return Fields(values=own, model_type=arch)


def blocks_of(header: Header) -> dict[int, set[str]]:
    """The tensors each block has, by their short names."""
    found: dict[int, set[str]] = {}
    for tensor in header.tensors:
        matched = re.match(r"blk\.(\d{1,5})\.([a-z0-9_]+)", tensor.name)
        if matched:
            found.setdefault(int(matched.group(1)), set()).add(matched.group(2))
    return found


def per_layer(fields: Fields, name: str, n_layers: int) -> list[int] | None:
    """A setting that is one number for all layers or a list with one each."""
    value = fields.values.get(name)
    if value is None:
        return None
    if isinstance(value, list):
        if len(value) < n_layers:
            raise BadInput(f"{name} lists {len(value):,} layers and there are {n_layers:,}")
        return [whole(v, name, least=0) for v in value[:n_layers]]
    return [whole(value, name, least=0)] * n_layers


def layers_of(fields: Fields, arch: str, blocks: Mapping[int, set[str]], name: str) -> list[Layer]:
    extra = fields.peek("nextn_predict_layers", least=0) or 0
    n_layers = fields.required("block_count") - extra
    if n_layers < 1 or not blocks:
        raise BadInput(f"{name} names no blocks: {n_layers:,} layers are left to count")
    shapes = heads_by_layer(fields, n_layers)
    kinds = windows_by_layer(fields, arch, n_layers)
    states = states_of(fields, arch)
    layers = []
    for i in range(n_layers):
        names = blocks.get(i, set())
        attends = any(n in names for n in ATTENTION) and shapes[i] is not None
        layer = attention_layer(fields, i, shapes[i], kinds[i]) if attends else nothing(i)
        if "shortconv" in names:
            layer = stateful(i, "conv", short_convolution(fields))
        elif any(n in names for n in STATES):
            layer = beside(layer, *states) if attends else stateful(i, "recurrent", *states)
        layers.append(layer)
    return shared(fields, layers)


def heads_by_layer(fields: Fields, n_layers: int) -> list[Heads | None]:
    """Heads and widths of each layer; None where the file says there are none."""
    queries = per_layer(fields, "attention.head_count", n_layers)
    if queries is None:
        return [None] * n_layers
    kvs = per_layer(fields, "attention.head_count_kv", n_layers) or queries
    width = fields.peek("attention.key_length")
    shapes: list[Heads | None] = []
    for query, kv in zip(queries, kvs, strict=True):
        if not query or not kv:
            shapes.append(None)
            continue
        key = width or divided(fields, query)
        value = fields.peek("attention.value_length") or key
        shapes.append(
            Heads(query=query, kv=check_groups(query, kv), key_width=key, value_width=value)
        )
    return shapes


def divided(fields: Fields, query: int) -> int:
    hidden = fields.required("embedding_length")
    if hidden % query:
        raise BadInput(
            f"attention.key_length is missing, and embedding_length {hidden:,} does not divide "
            f"by {query:,} heads"
        )
    return hidden // query


def windows_by_layer(fields: Fields, arch: str, n_layers: int) -> list[str]:
    """Which layers slide: the file's list, or the period that llama.cpp's code has."""
    if not fields.peek("attention.sliding_window", least=0):
        return ["full"] * n_layers
    pattern = fields.values.get("attention.sliding_window_pattern")
    if isinstance(pattern, list) and len(pattern) >= n_layers:
        return ["sliding" if slides else "full" for slides in pattern[:n_layers]]
    if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
        return spread(pattern, n_layers)
    if arch in PERIODS:
        fields.assume("sliding_window_pattern", PERIODS[arch], f"llama.cpp's rule for {arch}")
        return spread(PERIODS[arch], n_layers)
    raise BadInput(
        "attention.sliding_window is set and sliding_window_pattern is missing: which layers "
        f"of a {arch} slide is not in the header, give config.json"
    )


def attention_layer(fields: Fields, index: int, heads: Heads | None, kind: str) -> Layer:
    if heads is None:
        return nothing(index)
    rank = fields.peek("attention.kv_lora_rank")
    if rank is not None:
        rotary = fields.required("rope.dimension_count")
        shape = Latent(heads=heads.query, rank=rank, rotary=rotary, plain=0, value=0)
        return latent(index, shape)
    if kind == "full":
        return full(index, heads)
    width = fields.peek("attention.key_length_swa") or heads.key_width
    value = fields.peek("attention.value_length_swa") or width
    local = Heads(query=heads.query, kv=heads.kv, key_width=width, value_width=value)
    return windowed(index, local, fields.required("attention.sliding_window"))


def states_of(fields: Fields, arch: str) -> tuple[State, ...]:
    """Mamba 1 convolves its input alone; Mamba 2 and delta nets every group's B and C too."""
    kernel, inner = fields.peek("ssm.conv_kernel"), fields.peek("ssm.inner_size")
    state = fields.peek("ssm.state_size")
    if kernel is None or inner is None or state is None:
        return ()
    groups = 0 if arch in {"mamba", "jamba"} else (fields.peek("ssm.group_count", least=0) or 0)
    return convolution(inner + 2 * groups * state, kernel), recurrent(inner * state)


def short_convolution(fields: Fields) -> State:
    return convolution(fields.required("embedding_length"), fields.required("shortconv.l_cache"))


def shared(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """The last layers read the newest owner of their kind (`attention.shared_kv_layers`)."""
    n_shared = fields.peek("attention.shared_kv_layers", least=0) or 0
    first = len(layers) - min(n_shared, len(layers))
    newest = {layer.kind: layer.index for layer in layers[:first]}
    return [
        layer
        if layer.index < first
        else reuse(layer.index, newest.get(layer.kind, layer.index), layer.kind)
        for layer in layers
    ]
