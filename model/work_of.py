"""The work of a real model, from the same config reading and layer list as its cache size."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from model.errors import BadInput
from model.sizing.catalogue import find
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import latent
from model.sizing.parameters.chosen import CHOSEN
from model.sizing.parameters.decoder import Recipe, dense_width, sparse_layers
from model.sizing.parameters.parts import is_tied, mlp, named
from model.sizing.parameters.recipes import RECIPES
from model.sizing.read_config import find_decoder, list_layers, make_fields
from model.work import ExpertWork, LayerWork, ModelWork

LATENT: Mapping[str, Recipe] = {
    "deepseek_v2": latent.DEEPSEEK,
    "deepseek_v3": latent.DEEPSEEK,
    "kimi_k2": latent.DEEPSEEK,
    "glm4_moe_lite": latent.LITE,
    "minicpm3": Recipe(),
    "deepseek_v32": latent.DEEPSEEK,
    "glm_moe_dsa": latent.DEEPSEEK,
    "sarvam_mla": latent.SARVAM,
    "youtu": Recipe(),
}
USED_EXPERTS = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk")


@cache
def work_of(name: str) -> ModelWork:
    """Count a catalogue model, matched as leniently as for its size."""
    entry = find(name)
    return work_of_config(entry.config, name=entry.name)


def work_of_config(config: Mapping[str, Any], *, name: str) -> ModelWork:
    """Count a config.json. Attention and latent-attention decoders, with or without experts.

    Raises BadInput for other kinds (state spaces, compressed keys, encoders): their work
    follows other formulas, and none is guessed.
    """
    values, model_type, _ = find_decoder(config, "")
    fields = make_fields(values, model_type, outer=config)
    layers = list_layers(fields)
    recipe = _recipe(fields)
    if recipe is None or any(_is_other(layer) for layer in layers):
        message = (
            f"the work of {name} is not counted: {len(layers)} layers of {model_type}, "
            "choose a decoder of attention (or latent attention) and feed-forward layers"
        )
        raise BadInput(message)
    hidden = fields.defining("hidden_size")
    head = hidden * fields.defining("vocab_size")
    sparse = sparse_layers(fields, recipe, len(layers))
    return ModelWork(
        name=name,
        layers=tuple(
            _layer(fields, layer, layers, recipe, experts_here)
            for layer, experts_here in zip(layers, sparse, strict=True)
        ),
        head=head,
        table=0 if is_tied(fields) else head,
    )


def _recipe(fields: Fields) -> Recipe | None:
    model_type = fields.model_type
    if model_type in CHOSEN:
        return CHOSEN[model_type](fields)
    return LATENT.get(model_type) or RECIPES.get(model_type)


def _is_other(layer: Layer) -> bool:
    every_token = all(rows.every == 1 for rows in layer.rows)
    return bool(layer.states or layer.cross_rows) or layer.query_heads is None or not every_token


def _layer(
    fields: Fields,
    layer: Layer,
    layers: list[Layer],
    recipe: Recipe,
    sparse: bool,  # noqa: FBT001 - one entry of the list of layers with experts
) -> LayerWork:
    hidden = fields.defining("hidden_size")
    experts = _experts(fields, recipe, hidden) if sparse else None
    always = _always(fields, recipe, hidden, sparse=sparse)
    rows = layer.rows or layers[layer.owner].rows
    key, value = named(rows, "key"), named(rows, "value")
    if key is None or value is None:
        return _latent_layer(fields, layer, hidden, always, experts)
    heads = layer.query_heads or 0
    query, out = heads * key.width, heads * value.width
    weights = hidden * (query * (2 if recipe.query_gate else 1) + out)
    if recipe.gate:
        weights += hidden * (out if recipe.gate == "wide" else heads)
    written = key.numbers + value.numbers if layer.rows else 0
    return LayerWork(
        weights=weights + hidden * written + always,
        score_width=query,
        mix_width=out,
        row=key.numbers + value.numbers,
        written=written,
        window=key.window,
        experts=experts,
    )


def _latent_layer(
    fields: Fields, layer: Layer, hidden: int, always: int, experts: ExpertWork | None
) -> LayerWork:
    """MLA: a decode query reads latents (absorbed), a prefill pass expands them to heads."""
    heads, rank = fields.defining("num_attention_heads"), fields.required("kv_lora_rank")
    rotary = fields.required("qk_rope_head_dim", least=0)
    plain, value = fields.required("qk_nope_head_dim", least=0), fields.required("v_head_dim")
    low = fields.integer("q_lora_rank")
    query = heads * (plain + rotary)
    weights = hidden * query if low is None else hidden * low + low * query
    weights += hidden * (rank + rotary) + rank * heads * (plain + value) + heads * value * hidden
    row = sum(rows.numbers for rows in layer.rows if rows.role != "index")
    if fields.peek("index_topk") is not None:
        return _indexed_layer(fields, layer, weights + always, row, experts)
    shared = {"weights": weights + always, "row": row, "written": row, "window": layer.window}
    return LayerWork(
        **shared,
        score_width=heads * (rank + rotary),
        mix_width=heads * rank,
        experts=experts,
        expanded=LayerWork(**shared, score_width=query, mix_width=heads * value, experts=experts),
    )


def _indexed_layer(
    fields: Fields, layer: Layer, weights: int, row: int, experts: ExpertWork | None
) -> LayerWork:
    """Sparse latent attention: an index scores every key, the best few are read as latents.

    A layer without an index of its own takes another's choice. Prefill reads latents too.
    Source: deepseek-ai/DeepSeek-V3.2-Exp.
    """
    heads, rank = fields.defining("num_attention_heads"), fields.required("kv_lora_rank")
    rotary, hidden = fields.required("qk_rope_head_dim", least=0), fields.defining("hidden_size")
    index_row = sum(rows.numbers for rows in layer.rows if rows.role == "index")
    index_heads = fields.required("index_n_heads") if index_row else 0
    width = fields.required("index_head_dim") if index_row else 0
    low = latent.query_rank(fields) or hidden
    return LayerWork(
        weights=weights + low * index_heads * width + hidden * width + hidden * index_heads,
        score_width=heads * (rank + rotary),
        mix_width=heads * rank,
        row=row,
        written=row + index_row,
        best=fields.required("index_topk"),
        index_width=index_heads * width,
        index_row=index_row,
        experts=experts,
    )


def _always(fields: Fields, recipe: Recipe, hidden: int, *, sparse: bool) -> int:
    """Feed-forward weights that every token passes."""
    experts = recipe.experts
    if experts is None or not sparse:
        return mlp(hidden, dense_width(fields, recipe.dense_width, hidden), gated=recipe.gated)
    shared = experts.shared(fields)
    router = fields.required(experts.count) * hidden
    gate = hidden if experts.shared_gate and shared else 0
    return router + gate + (mlp(hidden, shared, gated=experts.gated) if shared else 0)


def _experts(fields: Fields, recipe: Recipe, hidden: int) -> ExpertWork | None:
    experts = recipe.experts
    if experts is None:
        return None
    used = next((n for n in map(fields.integer, USED_EXPERTS) if n is not None), None)
    if used is None:
        raise BadInput(fields.missing(USED_EXPERTS[0]))
    return ExpertWork(
        count=fields.required(experts.count),
        used=used,
        weights=mlp(hidden, fields.required(experts.width), gated=experts.gated),
    )
