"""Key/value heads said in their own ways: Falcon, StarCoder, MPT, DBRX, OpenELM, pruned Llamas."""

from collections.abc import Mapping
from dataclasses import replace

from model.errors import BadInput
from model.sizing.families import patterns
from model.sizing.families.attention import check_groups, head_width, layer_count, query_heads
from model.sizing.families.dense import Family, decoder
from model.sizing.fields import Fields, whole
from model.sizing.kinds import Heads, full, nothing
from model.sizing.layers import Layer, Rows


def falcon(fields: Fields) -> list[Layer]:
    """`multi_query` means one head, whatever num_kv_heads says; the new architecture groups.

    transformers keeps a copy for every query head of the new architecture.
    """
    query = query_heads(fields)
    width = head_width(fields, query)
    groups = fields.integer("num_key_value_heads")
    if fields.flag("new_decoder_architecture"):
        kv = check_groups(query, groups or query)
    else:
        kv = 1 if fields.flag("multi_query") else query
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    layers = [full(i, heads) for i in range(layer_count(fields))]
    if not fields.flag("new_decoder_architecture"):
        return layers
    return [repeated_in_transformers(layer, query) for layer in layers]


def repeated_in_transformers(layer: Layer, query: int) -> Layer:
    return replace(
        layer,
        holds=tuple(
            replace(r, in_transformers=replace(r, heads=query))
            for r in layer.holds
            if isinstance(r, Rows)
        ),
    )


def gpt_bigcode(fields: Fields) -> list[Layer]:
    """StarCoder: a boolean decides between one head and all."""
    query = query_heads(fields)
    width = head_width(fields, query)
    kv = 1 if fields.flag("multi_query", otherwise=True) else query
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return [full(i, heads) for i in range(layer_count(fields))]


def gpt_neo(fields: Fields) -> list[Layer]:
    """Local layers need the newest `window_size` tokens; transformers keeps all of them."""
    layers = decoder(patterns.gpt_neo)(fields)
    return [
        replace(
            layer,
            holds=tuple(
                replace(r, in_transformers=replace(r, window=None))
                for r in layer.holds
                if isinstance(r, Rows)
            ),
        )
        for layer in layers
    ]


def mpt(fields: Fields) -> list[Layer]:
    """`attn_config` says multi-head, multi-query, or how many key/value heads."""
    query = query_heads(fields)
    width = head_width(fields, query)
    inner = fields.inside("attn_config")
    kv = 1 if inner.given("attn_type") == "multiquery_attention" else query
    kv = check_groups(query, inner.integer("kv_n_heads") or kv)
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return [full(i, heads) for i in range(layer_count(fields))]


def dbrx(fields: Fields) -> list[Layer]:
    query = query_heads(fields)
    width = head_width(fields, query)
    kv = check_groups(query, fields.inside("attn_config").integer_or("kv_n_heads", 1, "of dbrx"))
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return [full(i, heads) for i in range(layer_count(fields))]


def jetmoe(fields: Fields) -> list[Layer]:
    """A mixture of attention experts: key/value heads shared by all, query heads per expert."""
    kv = fields.required("num_key_value_heads")
    width = fields.required("head_dim")
    query = kv * fields.required("num_experts_per_tok")
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return [full(i, heads) for i in range(layer_count(fields))]


def openelm(fields: Fields) -> list[Layer]:
    """Heads listed layer by layer."""
    queries = fields.numbers("num_query_heads", least=1)
    kvs = fields.numbers("num_kv_heads", least=1)
    n_layers = fields.required("num_transformer_layers")
    width = fields.required("head_dim")
    if queries is None or kvs is None:
        raise BadInput("num_query_heads and num_kv_heads are missing: OpenELM lists one a layer")
    if not len(queries) == len(kvs) == n_layers:
        raise BadInput(
            f"num_query_heads and num_kv_heads list {len(queries):,} and {len(kvs):,} layers, "
            f"num_transformer_layers is {n_layers:,}: they must agree"
        )
    return [
        full(i, Heads(query=q, kv=check_groups(q, kv), key_width=width, value_width=width))
        for i, (q, kv) in enumerate(zip(queries, kvs, strict=True))
    ]


def deci(fields: Fields) -> list[Layer]:
    """Pruned Llamas: each block says how many queries share a head, or that it has none."""
    query = query_heads(fields)
    width = head_width(fields, query)
    blocks = fields.given("block_configs")
    per_layer = fields.numbers("num_key_value_heads_per_layer", least=1)
    if per_layer is not None:
        kvs: list[int] = per_layer
    elif isinstance(blocks, list):
        kvs = [deci_block(block, query) for block in blocks]
    else:
        raise BadInput("block_configs is missing: it says which layers keep what")
    if len(kvs) != layer_count(fields):
        raise BadInput(
            f"{len(kvs):,} blocks are listed and num_hidden_layers is {layer_count(fields):,}"
        )
    return [
        full(i, Heads(query=query, kv=check_groups(query, kv), key_width=width, value_width=width))
        if kv
        else nothing(i)
        for i, kv in enumerate(kvs)
    ]


def deci_block(block: object, query: int) -> int:
    """Key/value heads of one block; 0 where attention was removed."""
    attention = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(attention, dict):
        raise BadInput("an entry of block_configs has no attention: it must be an object")
    if attention.get("no_op") or attention.get("replace_with_linear"):
        return 0
    return query // check_groups(
        query, whole(attention.get("n_heads_in_group"), "n_heads_in_group")
    )


FAMILIES: Mapping[str, Family] = {
    "dbrx": dbrx,
    "deci": deci,
    "falcon": falcon,
    "gpt_bigcode": gpt_bigcode,
    "gpt_neo": gpt_neo,
    "jetmoe": jetmoe,
    "mpt": mpt,
    "nemotron-nas": deci,
    "openelm": openelm,
}
