"""Weights of DeepSeek-V4: shared keys and values, compressors, grouped outputs, mixed streams."""

from collections.abc import Mapping

from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, ends
from model.sizing.parameters.experts import Experts, shared_times
from model.sizing.parameters.latent import Count

EXPERTS = Experts(shared=shared_times("n_shared_experts"))


def attention(fields: Fields, hidden: int) -> int:
    heads, width = fields.defining("num_attention_heads"), fields.required("head_dim")
    low = fields.required("q_lora_rank")
    groups, rank = fields.required("o_groups"), fields.required("o_lora_rank")
    total = heads + hidden * low + low + low * heads * width + hidden * width + width
    return total + groups * rank * (heads * width // groups) + groups * rank * hidden


def compressor(fields: Fields, layer: Layer, hidden: int) -> int:
    """Values, gates and a bias per place in the group; twice as wide where groups overlap."""
    entry = next((r for r in layer.rows if r.name == "compressed entry"), None)
    if entry is None:
        return 0
    index = next((r for r in layer.rows if r.role == "index"), None)
    overlap = 2 if index else 1
    total = pool(hidden, entry.width, entry.every, overlap)
    if index:
        n_heads, low = fields.required("index_n_heads"), fields.required("q_lora_rank")
        total += pool(hidden, index.width, index.every, overlap)
        total += low * n_heads * index.width + hidden * n_heads
    return total


def pool(hidden: int, width: int, every: int, overlap: int) -> int:
    return overlap * (every * width + 2 * hidden * width) + width


def connections(fields: Fields, hidden: int) -> int:
    """Hyper-connections mix `hc_mult` copies of the stream, before attention and MLP."""
    n = fields.required("hc_mult")
    outputs = n * (n + 2)
    return 2 * (outputs * n * hidden + outputs + 3)


def v4(fields: Fields, layers: list[Layer]) -> int:
    hidden = fields.defining("hidden_size")
    n = fields.required("hc_mult")
    total = ends(fields, hidden, Recipe()) + n * n * hidden + n + 1
    for layer in layers:
        total += attention(fields, hidden) + compressor(fields, layer, hidden) + 2 * hidden
        total += EXPERTS.weights(fields, hidden) + connections(fields, hidden)
    return total


COUNTS: Mapping[str, Count] = {"deepseek_v4": v4}
