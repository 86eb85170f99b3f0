"""A config that does not name its architecture: read only when it can mean one thing."""

from collections.abc import Mapping
from typing import Any

from model.errors import BadInput
from model.sizing.families.attention import check_groups, head_width
from model.sizing.fields import Fields
from model.sizing.kinds import Heads, full
from model.sizing.layers import Layer

SIGNS = (
    "kv_lora_rank",
    "sliding_window",
    "layer_types",
    "layers_block_type",
    "attention_chunk_size",
    "window",
    "mamba",
    "ssm",
    "state_size",
    "conv",
    "linear_",
    "hybrid",
    "block_types",
    "compress",
    "shared_layers",
    "share_factor",
    "encoder",
    "decoder",
    "attn_config",
    "index_",
    "per_layer",
    "pattern",
    "recurrent",
)


def plain_decoder(fields: Fields) -> list[Layer]:
    """Layers, heads, key/value heads and a width, all stated, and no sign of anything else."""
    sign = sign_of_more(fields.values)
    if sign is not None:
        raise BadInput(
            f"model_type is missing, and {sign} says that not all layers are plain: add model_type"
        )
    n_layers = stated(fields, "num_hidden_layers")
    query = stated(fields, "num_attention_heads")
    if fields.given("multi_query") is True:
        kv = 1
    else:
        kv = check_groups(query, stated(fields, "num_key_value_heads"))
    width = head_width(fields, query)
    fields.warn("no model_type: counted as a plain decoder, which its keys allow")
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return [full(i, heads) for i in range(n_layers)]


def stated(fields: Fields, name: str) -> int:
    value = fields.integer(name)
    if value is None:
        raise BadInput(
            f"{name} is missing, and there is no model_type to say what stands in for it: "
            f"add {name} or model_type"
        )
    return value


def sign_of_more(values: Mapping[str, Any]) -> str | None:
    for key, value in values.items():
        if value not in (None, False, 0, [], {}) and any(sign in str(key) for sign in SIGNS):
            return str(key)[:40]
    return None
