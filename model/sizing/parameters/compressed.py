"""Weights of DeepSeek-V4 and V4.1: shared keys and values, compressors, mixed streams."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.errors import BadInput
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, ends
from model.sizing.parameters.experts import Experts, shared_times
from model.sizing.parameters.latent import Count
from model.sizing.parameters.parts import named

EXPERTS = Experts(shared=shared_times("n_shared_experts"))


def projections(fields: Fields, hidden: int) -> int:
    """Queries through a bottleneck, one key-and-value, outputs in groups through another."""
    heads, width = fields.defining("num_attention_heads"), fields.required("head_dim")
    low = fields.required("q_lora_rank")
    groups, rank = fields.required("o_groups"), fields.required("o_lora_rank")
    total = hidden * low + low * heads * width + hidden * width
    return total + rank * heads * width + groups * rank * hidden


def attention(fields: Fields, hidden: int) -> int:
    """The projections, a sink per head, and two norms."""
    width, low = fields.required("head_dim"), fields.required("q_lora_rank")
    return projections(fields, hidden) + fields.defining("num_attention_heads") + low + width


def index_query(fields: Fields, hidden: int) -> int:
    """Index queries from the query latent, and a weight per head."""
    heads = fields.required("index_n_heads")
    return heads * (fields.required("q_lora_rank") * fields.required("index_head_dim") + hidden)


def compressor_matrices(fields: Fields, layer: Layer, hidden: int) -> int:
    """Values and gates, twice as wide where groups overlap, and an index's beside them."""
    entry, index = named(layer.rows, "compressed entry"), named(layer.rows, "index key")
    if entry is None:
        return 0
    if index is None:
        return 2 * hidden * entry.width
    return 4 * hidden * (entry.width + index.width) + index_query(fields, hidden)


def compressor(fields: Fields, layer: Layer, hidden: int) -> int:
    """Its matrices, a bias per place in the group, and a norm."""
    rows = [r for r in layer.rows if r.every > 1]
    overlap = 2 if any(r.role == "index" for r in rows) else 1
    beside = sum(overlap * r.every * r.width + r.width for r in rows)
    return compressor_matrices(fields, layer, hidden) + beside


def mixing_matrices(fields: Fields, hidden: int) -> int:
    """Hyper-connections mix `hc_mult` copies of the stream, before attention and MLP."""
    n = fields.required("hc_mult")
    return 2 * n * (n + 2) * n * hidden


def connections(fields: Fields, hidden: int) -> int:
    """The mixing matrices, a bias for each coefficient and three scales, twice a layer."""
    n = fields.required("hc_mult")
    return mixing_matrices(fields, hidden) + 2 * (n * (n + 2) + 3)


def last_mix(fields: Fields, hidden: int) -> int:
    """The matrix that brings the copies together behind the last layer."""
    return fields.required("hc_mult") ** 2 * hidden


def v4(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    n = fields.required("hc_mult")
    total = ends(fields, hidden, Recipe()) + last_mix(fields, hidden) + n + 1
    for layer in layers:
        total += attention(fields, hidden) + compressor(fields, layer, hidden) + 2 * hidden
        total += EXPERTS.weights(fields, hidden) + connections(fields, hidden)
    return total


@dataclass(frozen=True, kw_only=True)
class Sources:
    """V4.1: which layers own entries, which score an index, and which look words up."""

    entries: frozenset[int]
    index: frozenset[int]
    candidates: int | None  # the layer whose index narrows the later ones
    n_candidates: int | None
    tables: Mapping[int, int]  # rows of a layer's n-gram table


def sources(fields: Fields) -> Sources:
    names, rows = fields.numbers("engram_layer_ids"), fields.numbers("engram_num_embeddings")
    if len(names or ()) != len(rows or ()):
        raise BadInput(
            f"engram_layer_ids lists {len(names or ()):,} layers and engram_num_embeddings "
            f"{len(rows or ()):,}: they must agree"
        )
    first = fields.integer("candidate_source_layer_id", least=0)
    narrowed = first is not None
    return Sources(
        entries=frozenset(fields.numbers("kv_source_layer_ids") or ()),
        index=frozenset(fields.numbers("index_source_layer_ids") or ()),
        candidates=first,
        n_candidates=(
            fields.required("candidate_topk_blocks") * fields.required("candidate_block_size")
            if narrowed
            else None
        ),
        tables=dict(zip(names or (), rows or (), strict=True)),
    )


def own_matrices(fields: Fields, layer: Layer, hidden: int) -> int:
    """V4.1: an owner's entries (with a gate where they pool), a scorer's queries, look-ups."""
    found = sources(fields)
    entry = named(layer.rows, "compressed entry")
    total = hidden * entry.width * (2 if entry.every > 1 else 1) if entry else 0
    if layer.index in found.index:
        total += index_query(fields, hidden)
    return total + (looked_up(fields, hidden) if layer.index in found.tables else 0)


def index_key(fields: Fields, layer: Layer) -> int:
    """V4.1: an index key is made of the entry, once for each."""
    entry = named(layer.rows, "compressed entry")
    return entry.width * fields.required("index_head_dim") if entry else 0


def looked_up(fields: Fields, hidden: int) -> int:
    """What turns the rows of a token's n-grams into a key for each copy and one value."""
    orders, heads = fields.required("engram_max_ngram_size") - 1, fields.required("engram_n_heads")
    wide = orders * heads * fields.required("engram_head_dim")
    return wide * hidden * (fields.required("hc_mult") + 1)


def ngram_tables(fields: Fields) -> int:
    tables = sources(fields).tables
    return sum(tables.values()) * fields.required("engram_head_dim") if tables else 0


def v41(fields: Fields, layers: list[Layer]) -> int:
    """V4.1-Flash, n-gram tables included; of the vision tower and the draft layers, nothing."""
    hidden, found = fields.defining("hidden_size"), sources(fields)
    n, index = fields.required("hc_mult"), fields.required("index_head_dim")
    total = ends(fields, hidden, Recipe()) + ngram_tables(fields)
    for layer in layers:
        total += attention(fields, hidden) + own_matrices(fields, layer, hidden) + 2 * hidden
        total += EXPERTS.weights(fields, hidden) + connections(fields, hidden)
        if layer.index in found.entries:
            total += index_key(fields, layer) + fields.required("head_dim") + index
        total += 2 * n * hidden if layer.index in found.tables else 0
    tables = ngram_tables(fields)
    if tables:
        fields.warn(f"{tables:,} of the weights are n-gram tables: a token looks up a few rows")
    return total


COUNTS: Mapping[str, Count] = {"deepseek_v4": v4, "deepseek_v41": v41, "deepseek_v4_1": v41}
