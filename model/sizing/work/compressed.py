"""DeepSeek-V4 and V4.1: a window of rows, entries that stand for several tokens, an index.

Sources: `transformers` models/deepseek_v4; deepseek-ai/DeepSeek-V4.1-Flash, config and shapes
of the released tensors, as bojieli/OpenTallas compiler/frontend/deepseek_v41.py lists them.
"""

from collections.abc import Mapping
from dataclasses import replace

from model.layer_work import LayerWork
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import compressed
from model.sizing.parameters.parts import named
from model.sizing.work.parts import Body, Count, input_table, plus, with_experts


def window_part(fields: Fields, layer: Layer, hidden: int) -> LayerWork:
    """The newest rows, each key and value at once; experts; the mix of the stream's copies."""
    newest = named(layer.rows, "key and value")
    width = fields.required("head_dim")
    heads, n = fields.defining("num_attention_heads"), fields.required("hc_mult")
    part = LayerWork(
        weights=compressed.projections(fields, hidden),
        score_width=heads * width,
        mix_width=heads * width,
        row=width,
        written=width,
        window=newest.window if newest else None,
        token_flops=2 * 2 * n * n * hidden,
    )
    mixed = plus(part, compressed.mixing_matrices(fields, hidden))
    return with_experts(fields, mixed, compressed.EXPERTS)


def v4(fields: Fields, layers: list[Layer]) -> Body:
    hidden = fields.defining("hidden_size")
    counted = (
        replace(window_part(fields, layer, hidden), beside=v4_entries(fields, layer, hidden))
        for layer in layers
    )
    return Body(
        layers=tuple(counted),
        table=input_table(fields),
        ends=compressed.last_mix(fields, hidden),
    )


def v4_entries(fields: Fields, layer: Layer, hidden: int) -> tuple[LayerWork, ...]:
    """Entries of a layer: all of them are read, or the best few of an index."""
    entry, index = named(layer.rows, "compressed entry"), named(layer.rows, "index key")
    if entry is None:
        return ()
    wide = fields.defining("num_attention_heads") * entry.width
    part = LayerWork(
        weights=compressed.compressor_matrices(fields, layer, hidden),
        score_width=wide,
        mix_width=wide,
        row=entry.width,
        written=entry.width,
        every=entry.every,
    )
    if index is None:
        return (part,)
    scored = replace(
        part,
        written=entry.width + index.width,
        best=fields.required("index_topk"),
        index_width=fields.required("index_n_heads") * index.width,
        index_row=index.width,
    )
    return (scored,)


def v41(fields: Fields, layers: list[Layer]) -> Body:
    """Few layers own entries, more score them, the others take the choice of the last that did."""
    hidden = fields.defining("hidden_size")
    counted = []
    for layer in layers:
        part = plus(
            window_part(fields, layer, hidden), compressed.own_matrices(fields, layer, hidden)
        )
        counted.append(replace(part, beside=v41_entries(fields, layer, layers[layer.owner])))
    return Body(
        layers=tuple(counted),
        table=input_table(fields) + compressed.ngram_tables(fields),
        assumed=("a prompt passes every layer in full: no replay of the decoder half",),
    )


def v41_entries(fields: Fields, layer: Layer, owner: Layer) -> tuple[LayerWork, ...]:
    entry = named(owner.rows, "compressed entry")
    if entry is None:
        return ()
    found = compressed.sources(fields)
    scores, owns = layer.index in found.index, layer is owner
    width = fields.required("index_head_dim")
    later = found.candidates is not None and layer.index > found.candidates
    wide = fields.defining("num_attention_heads") * entry.width
    part = LayerWork(
        weights=0,
        row_weights=compressed.index_key(fields, layer),
        score_width=wide,
        mix_width=wide,
        row=entry.width,
        written=entry.width + width if owns else 0,
        every=entry.every,
        best=fields.required("index_topk"),
        index_width=fields.required("index_n_heads") * width if scores else 0,
        index_row=width if scores else 0,
        index_most=found.n_candidates if later else None,
    )
    return (part,)


WORKS: Mapping[str, Count] = {"deepseek_v4": v4, "deepseek_v41": v41, "deepseek_v4_1": v41}
