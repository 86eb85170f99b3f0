"""Weights of latent attention, its indexer, and the decoders built on them."""

from collections.abc import Callable, Mapping

from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, ends, feed_forward, sparse_layers
from model.sizing.parameters.experts import Experts, after_first, shared_times
from model.sizing.parameters.parts import matrix
from model.sizing.parameters.recipes import DEEPSEEK_EXPERTS, sparse_by_list_or_first

Count = Callable[[Fields, list[Layer]], int]


def projections(fields: Fields, hidden: int) -> int:
    """Down- and up-projections of queries (where they have a rank), keys and values; out."""
    heads = fields.defining("num_attention_heads")
    rank, rotary = fields.required("kv_lora_rank"), fields.required("qk_rope_head_dim", least=0)
    plain, value = fields.required("qk_nope_head_dim", least=0), value_width(fields, hidden, heads)
    query = heads * (plain + rotary)
    low = query_rank(fields)
    total = matrix(hidden, query) if low is None else matrix(hidden, low) + matrix(low, query)
    total += matrix(hidden, rank + rotary) + matrix(rank, heads * (plain + value))
    return total + matrix(heads * value, hidden)


def latent_attention(fields: Fields, hidden: int) -> int:
    """The projections, the norms of both latents, and biases where there are any."""
    rank, rotary = fields.required("kv_lora_rank"), fields.required("qk_rope_head_dim", least=0)
    low = query_rank(fields) or 0
    biases = low + rank + rotary + hidden if fields.flag("attention_bias") else 0
    return projections(fields, hidden) + low + rank + biases


def value_width(fields: Fields, hidden: int, heads: int) -> int:
    value = fields.integer("v_head_dim")
    return hidden // heads if value is None else value


def query_rank(fields: Fields) -> int | None:
    """`q_lora_rank`: null in the smaller models, whose queries have no bottleneck."""
    return fields.integer("q_lora_rank")


def index_projections(fields: Fields, hidden: int) -> int:
    """Index queries from the query latent, one key a token, a weight per head."""
    width, heads = fields.required("index_head_dim"), fields.required("index_n_heads")
    low = query_rank(fields) or hidden
    return low * heads * width + hidden * width + hidden * heads


def indexer(fields: Fields, hidden: int) -> int:
    """The index's projections and its key's norm."""
    return index_projections(fields, hidden) + 2 * fields.required("index_head_dim")


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
