"""Weights of latent attention, its indexer, and the decoders built on them."""

from collections.abc import Callable, Mapping

from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, ends, feed_forward, sparse_layers
from model.sizing.parameters.experts import Experts, after_first, shared_times
from model.sizing.parameters.parts import matrix
from model.sizing.parameters.recipes import DEEPSEEK_EXPERTS, sparse_by_list_or_first

Count = Callable[[Fields, list[Layer]], int]


def latent_attention(fields: Fields, hidden: int) -> int:
    """Down- and up-projections of queries (where they have a rank), keys and values."""
    heads = fields.defining("num_attention_heads")
    rank, rotary = fields.required("kv_lora_rank"), fields.required("qk_rope_head_dim", least=0)
    plain, value = fields.required("qk_nope_head_dim", least=0), value_width(fields, hidden, heads)
    bias = fields.flag("attention_bias")
    query = heads * (plain + rotary)
    low = query_rank(fields)
    if low is None:
        total = matrix(hidden, query)
    else:
        total = matrix(hidden, low, bias=bias) + low + matrix(low, query)
    total += matrix(hidden, rank + rotary, bias=bias) + rank
    total += matrix(rank, heads * (plain + value))
    return total + matrix(heads * value, hidden, bias=bias)


def value_width(fields: Fields, hidden: int, heads: int) -> int:
    value = fields.integer("v_head_dim")
    return hidden // heads if value is None else value


def query_rank(fields: Fields) -> int | None:
    """`q_lora_rank`: null in the smaller models, whose queries have no bottleneck."""
    return fields.integer("q_lora_rank")


def indexer(fields: Fields, hidden: int) -> int:
    """Index queries from the query latent, one key a token with a norm, a weight per head."""
    width, heads = fields.required("index_head_dim"), fields.required("index_n_heads")
    low = query_rank(fields) or hidden
    return low * heads * width + hidden * width + 2 * width + hidden * heads


def count_with(recipe: Recipe) -> Count:
    """A decoder of latent attention whose MLPs and ends follow `recipe`."""

    def count(fields: Fields, layers: list[Layer]) -> int:
        hidden = fields.defining("hidden_size")
        sparse = sparse_layers(fields, recipe, len(layers))
        total = ends(fields, hidden, recipe)
        for layer, is_sparse in zip(layers, sparse, strict=True):
            total += latent_attention(fields, hidden) + recipe.norms * hidden
            total += feed_forward(fields, is_sparse, hidden, recipe)
            if any(r.role == "index" for r in layer.rows):
                total += indexer(fields, hidden)
        return total

    return count


def longcat(fields: Fields, layers: list[Layer]) -> int:
    """LongCat-Flash: each block has two attentions, two MLPs, and experts of which some do nothing.

    The experts that only pass their input on have no weights of their own but a router row.
    """
    hidden = fields.defining("hidden_size")
    inner, width = fields.defining("intermediate_size"), fields.required("expert_ffn_hidden_size")
    real, idle = fields.required("n_routed_experts"), fields.required("zero_expert_num", least=0)
    experts = real * 3 * hidden * width + (real + idle) * hidden
    block = 2 * latent_attention(fields, hidden) + 2 * 3 * hidden * inner + experts + 4 * hidden
    return ends(fields, hidden, Recipe()) + len(layers) // 2 * block


DEEPSEEK = Recipe(experts=DEEPSEEK_EXPERTS)
LITE = Recipe(
    experts=Experts(sparse=sparse_by_list_or_first(1), shared=shared_times("n_shared_experts"))
)
SARVAM = Recipe(
    experts=Experts(
        sparse=after_first("first_k_dense_replace", 1), shared=shared_times("n_shared_experts")
    )
)
COUNTS: Mapping[str, Count] = {
    "deepseek_v2": count_with(DEEPSEEK),
    "deepseek_v3": count_with(DEEPSEEK),
    "deepseek_v32": count_with(DEEPSEEK),
    "glm4_moe_lite": count_with(LITE),
    "glm_moe_dsa": count_with(DEEPSEEK),
    "kimi_k2": count_with(DEEPSEEK),
    "longcat_flash": longcat,
    "minicpm3": count_with(Recipe()),
    "sarvam_mla": count_with(SARVAM),
    "youtu": count_with(Recipe()),
}
