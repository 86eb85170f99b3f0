"""Latent attention: decode reads latents (absorbed), a prefill expands them to heads."""

from collections.abc import Mapping

from model.layer_work import LayerWork
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import latent
from model.sizing.parameters.decoder import Recipe, sparse_layers
from model.sizing.work.parts import Body, Count, fed, input_table


def latent_part(fields: Fields, layer: Layer) -> LayerWork:
    """MLA (DeepSeek-V2, arXiv 2405.04434), with an index where the model has one."""
    hidden, heads = fields.defining("hidden_size"), fields.defining("num_attention_heads")
    rank, rotary = fields.required("kv_lora_rank"), fields.required("qk_rope_head_dim", least=0)
    plain = fields.required("qk_nope_head_dim", least=0)
    value = latent.value_width(fields, hidden, heads)
    weights = latent.projections(fields, hidden)
    row = sum(rows.numbers for rows in layer.rows if rows.role != "index")
    if fields.peek("index_topk") is not None:
        return _indexed(fields, layer, weights, row)
    shared = {"weights": weights, "row": row, "written": row, "window": layer.window}
    return LayerWork(
        **shared,
        score_width=heads * (rank + rotary),
        mix_width=heads * rank,
        expanded=LayerWork(
            **shared, score_width=heads * (plain + rotary), mix_width=heads * value
        ),
    )  # fmt: skip


def _indexed(fields: Fields, layer: Layer, weights: int, row: int) -> LayerWork:
    """Sparse latent attention: an index scores every key, the best few are read as latents.

    A layer without an index of its own takes another's choice. Prefill reads latents too.
    Source: deepseek-ai/DeepSeek-V3.2-Exp.
    """
    heads, rank = fields.defining("num_attention_heads"), fields.required("kv_lora_rank")
    rotary, hidden = fields.required("qk_rope_head_dim", least=0), fields.defining("hidden_size")
    index_row = sum(rows.numbers for rows in layer.rows if rows.role == "index")
    own = latent.index_projections(fields, hidden) if index_row else 0
    return LayerWork(
        weights=weights + own,
        score_width=heads * (rank + rotary),
        mix_width=heads * rank,
        row=row,
        written=row + index_row,
        best=fields.required("index_topk"),
        index_width=fields.required("index_n_heads") * index_row if index_row else 0,
        index_row=index_row,
    )


def latent_decoder(recipe: Recipe) -> Count:
    """Latent attention in every layer, the recipe's feed-forward network behind it."""

    def count(fields: Fields, layers: list[Layer]) -> Body:
        sparse = sparse_layers(fields, recipe, len(layers))
        return Body(
            layers=tuple(
                fed(fields, latent_part(fields, layer), recipe, sparse=is_sparse)
                for layer, is_sparse in zip(layers, sparse, strict=True)
            ),
            table=input_table(fields),
        )

    return count


WORKS: Mapping[str, Count] = {
    "deepseek_v2": latent_decoder(latent.DEEPSEEK),
    "deepseek_v3": latent_decoder(latent.DEEPSEEK),
    "kimi_k2": latent_decoder(latent.DEEPSEEK),
    "glm4_moe_lite": latent_decoder(latent.LITE),
    "minicpm3": latent_decoder(Recipe()),
    "deepseek_v32": latent_decoder(latent.DEEPSEEK),
    "glm_moe_dsa": latent_decoder(latent.DEEPSEEK),
    "sarvam_mla": latent_decoder(latent.SARVAM),
    "youtu": latent_decoder(Recipe()),
}
