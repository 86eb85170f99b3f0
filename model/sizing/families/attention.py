"""Heads, windows and layer types, read the way the models' own code reads them."""

from collections.abc import Callable

from model.errors import BadInput
from model.sizing import class_defaults
from model.sizing.fields import Fields, whole
from model.sizing.kinds import Heads

Rule = Callable[[Fields, int], list[str]]

LAYER_TYPES = {
    "full_attention": "full",
    "full": "full",
    "attention": "full",
    "global": "full",
    "global_attention": "full",
    "sliding_attention": "sliding",
    "sliding_window_attention": "sliding",
    "sliding_window": "sliding",
    "sliding": "sliding",
    "swa": "sliding",
    "local": "sliding",
    "local_attention": "sliding",
    "chunked_attention": "chunked",
    "chunked": "chunked",
    "indexed_attention": "indexed",
    "linear_attention": "linear",
    "linear": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "recurrent": "linear",
    "conv": "conv",
    "short_conv": "conv",
    "hybrid": "hybrid",
    "hybrid_sliding": "hybrid_sliding",
    "mlp": "mlp",
    "moe": "mlp",
    "heavily_compressed_attention": "heavily_compressed",
    "compressed_sparse_attention": "compressed_sparse",
    "minimax_m3_sparse": "minimax_m3_sparse",
}


def layer_count(fields: Fields) -> int:
    return fields.defining("num_hidden_layers")


def query_heads(fields: Fields) -> int:
    return fields.defining("num_attention_heads")


def kv_heads(fields: Fields, query: int) -> int:
    """Key/value heads: the number given, one for multi-query, else one per query head."""
    given = fields.given("num_key_value_heads")
    if fields.flag("multi_query") and given is None:
        return 1
    kv = fields.integer("num_key_value_heads")
    if kv is None:
        if declares(fields, "num_key_value_heads"):
            fields.assume("num_key_value_heads", query, "absent: every query head keeps its own")
        return query
    return check_groups(query, kv)


def declares(fields: Fields, name: str) -> bool:
    """Whether the model's code knows `name`; code that travels with weights may know any."""
    if not class_defaults.known(fields.class_type):
        return True
    return class_defaults.has_field(fields.class_type, name)


def check_groups(query: int, kv: int) -> int:
    if query % kv:
        raise BadInput(
            f"{query:,} query heads cannot share {kv:,} key/value heads evenly: "
            "num_key_value_heads must divide num_attention_heads"
        )
    return kv


def head_width(fields: Fields, query: int) -> int:
    """The explicit head_dim, the class's, or hidden size over heads, which must divide."""
    explicit = fields.integer("head_dim")
    if explicit is not None:
        return explicit
    hidden = fields.defining("hidden_size")
    if hidden % query:
        raise BadInput(
            f"head_dim is missing, and hidden_size {hidden:,} does not divide by "
            f"{query:,} heads: add head_dim"
        )
    return hidden // query


def heads_of(fields: Fields) -> Heads:
    """The usual case: one head width for keys and values alike."""
    query = query_heads(fields)
    kv = kv_heads(fields, query)
    width = head_width(fields, query)
    return Heads(query=query, kv=kv, key_width=width, value_width=width)


def window_of(fields: Fields) -> int | None:
    """The window on attention, where the model's code has one and the file does not switch it off.

    Zero and null both mean none.
    """
    if fields.given("sliding_window") == 0:
        return None
    if fields.given("use_sliding_window") is False:
        return None
    return fields.integer("sliding_window")


def needed_window(fields: Fields, name: str = "sliding_window") -> int:
    """The window a layer of a windowed type must have."""
    window = fields.integer(name)
    if window is None:
        raise BadInput(
            f"{name} is missing, and some layers of this {fields.model_type} keep only a window: "
            "add it"
        )
    return window


def layer_types(fields: Fields, n_layers: int, rule: Rule) -> list[str]:
    """One kind a layer: the file's own list when it has one, else the class's rule."""
    written = fields.words("layer_types") or fields.words("layers_block_type")
    if written is None:
        return rule(fields, n_layers)
    extra = whole(fields.values.get("num_nextn_predict_layers") or 0, "mtp", least=0)
    if len(written) == n_layers + extra:  # some files list the prediction layers as well
        written = written[:n_layers]
    if len(written) != n_layers:
        raise BadInput(
            f"layer_types lists {len(written):,} layers and num_hidden_layers is {n_layers:,}: "
            "they must agree"
        )
    unknown = next((t for t in written if t.lower() not in LAYER_TYPES), None)
    if unknown is not None:
        raise BadInput(
            f"layer_types holds {unknown[:40]!r}, which is no known type: use full_attention, "
            "sliding_attention, chunked_attention, linear_attention, conv, hybrid, mlp or moe"
        )
    return [LAYER_TYPES[t.lower()] for t in written]
