"""Gemma 3n and 4: inputs per layer, caches that several layers read, and 3n's four streams."""

from collections.abc import Mapping
from dataclasses import replace

from model.layer_work import ExpertWork, LayerWork
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import gemma
from model.sizing.parameters.parts import mlp
from model.sizing.work.parts import Body, Count, attending, input_table, plus, used_experts


def narrow_inputs(fields: Fields, hidden: int) -> int:
    """A layer's share of the input projection, and its way in and out of the narrow width."""
    return 3 * hidden * (fields.integer("hidden_size_per_layer_input", least=0) or 0)


def narrow_table(fields: Fields, n_layers: int) -> int:
    """A row per word and layer, of which a token looks up its own."""
    narrow = fields.integer("hidden_size_per_layer_input", least=0) or 0
    return fields.required("vocab_size_per_layer_input") * n_layers * narrow if narrow else 0


def gemma3n(fields: Fields, layers: list[Layer]) -> Body:
    """Every layer predicts and corrects several copies of the stream, and runs on one of them."""
    hidden = fields.defining("hidden_size")
    n = fields.required("altup_num_inputs")
    widths = gemma.mlp_widths(fields, layers)
    copies = n * hidden + n * n + n * n * n
    branch = 2 * hidden * fields.required("laurel_rank") + narrow_inputs(fields, hidden)
    again = 2 * (n * hidden + n * n * hidden)  # the router's second look, and the prediction
    counted = []
    for layer, width in zip(layers, widths, strict=True):
        part = attending(layer, layers[layer.owner], hidden, gemma.RECIPE)
        part = plus(part, mlp(hidden, width) + copies + branch)
        counted.append(replace(part, token_flops=again))
    return Body(
        layers=tuple(counted),
        table=input_table(fields) + narrow_table(fields, len(layers)),
        ends=2 * (n - 1) * hidden * hidden,
    )


def gemma4(fields: Fields, layers: list[Layer]) -> Body:
    """Readers of another layer's cache may have a double MLP; global values may be the keys."""
    hidden = fields.defining("hidden_size")
    inner = fields.defining("intermediate_size")
    double = 2 if fields.flag("use_double_wide_mlp") else 1
    counted = []
    for layer in layers:
        part = attending(layer, layers[layer.owner], hidden, gemma.RECIPE)
        more = mlp(hidden, inner * (1 if layer.holds else double)) + narrow_inputs(fields, hidden)
        more -= gemma.values_that_are_keys(fields, layer, hidden)
        counted.append(with_gemma4_experts(fields, plus(part, more)))
    return Body(
        layers=tuple(counted), table=input_table(fields) + narrow_table(fields, len(layers))
    )


def with_gemma4_experts(fields: Fields, part: LayerWork) -> LayerWork:
    """Experts beside the MLP, where the file switches them on."""
    if not fields.flag("enable_moe_block"):
        return part
    hidden, count = fields.defining("hidden_size"), fields.required("num_experts")
    experts = ExpertWork(
        count=count,
        used=used_experts(fields),
        weights=mlp(hidden, fields.required("moe_intermediate_size")),
    )
    return plus(part, count * hidden, experts)


WORKS: Mapping[str, Count] = {"gemma3n_text": gemma3n, "gemma4_text": gemma4}
