"""What a family's count is made of, and the pieces that most families share."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from model.layer_work import ExpertWork, LayerWork
from model.sizing.fields import Fields, Missing
from model.sizing.layers import Layer
from model.sizing.parameters.decoder import Recipe, dense_width, projections
from model.sizing.parameters.experts import Experts
from model.sizing.parameters.parts import is_tied, key_and_value, mlp
from model.work import EncoderWork

USED_EXPERTS = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk")
STATE_BYTES = {"float32": 4, "model": 2}


@dataclass(frozen=True, kw_only=True)
class Body:
    """A model's work without its output matrix: see `model.work.ModelWork` for the fields."""

    layers: tuple[LayerWork, ...]
    table: int
    ends: int = 0
    encoder: EncoderWork | None = None
    assumed: tuple[str, ...] = ()


Count = Callable[[Fields, list[Layer]], Body]


def input_table(fields: Fields) -> int:
    """Numbers of an input table beside the output matrix."""
    return 0 if is_tied(fields) else fields.defining("hidden_size") * fields.defining("vocab_size")


def attending(layer: Layer, owner: Layer, hidden: int, recipe: Recipe) -> LayerWork:
    """Attention over keys and values, the layer's own or its owner's (CLA, YOCO)."""
    pair = key_and_value(layer, owner)
    if pair is None or layer.query_heads is None:
        return LayerWork(weights=0)
    key, value = pair
    row = key.numbers + value.numbers
    return LayerWork(
        weights=projections(layer, owner, hidden, recipe),
        score_width=layer.query_heads * key.width,
        mix_width=layer.query_heads * value.width,
        row=row,
        written=row if layer.rows else 0,
        window=key.window,
    )


def plus(part: LayerWork, weights: int, experts: ExpertWork | None = None) -> LayerWork:
    """The same layer with a feed-forward network (or more matrices) behind it."""
    expanded = part.expanded and plus(part.expanded, weights, experts)
    added = part.weights + weights
    return replace(part, weights=added, experts=experts or part.experts, expanded=expanded)


def fed(fields: Fields, part: LayerWork, recipe: Recipe, *, sparse: bool) -> LayerWork:
    """The layer with its recipe's feed-forward network: dense, or router and experts."""
    hidden = fields.defining("hidden_size")
    if recipe.experts is None or not sparse:
        inner = dense_width(fields, recipe.dense_width, hidden)
        return plus(part, mlp(hidden, inner, gated=recipe.gated))
    return with_experts(fields, part, recipe.experts)


def with_experts(fields: Fields, part: LayerWork, experts: Experts) -> LayerWork:
    """The layer with a router, a shared expert where there is one, and routed experts."""
    hidden = fields.defining("hidden_size")
    work = ExpertWork(
        count=fields.required(experts.count),
        used=used_experts(fields),
        weights=experts.each(fields, hidden),
    )
    return plus(part, experts.always(fields, hidden), work)


def used_experts(fields: Fields) -> int:
    """How many experts a token uses, under any of the names files give it."""
    used = next((n for n in map(fields.integer, USED_EXPERTS) if n is not None), None)
    if used is None:
        raise Missing(fields.missing(USED_EXPERTS[0]))
    return used


def state_bytes(layer: Layer) -> int:
    """Bytes of a layer's states, each in the format its model keeps it in (16 bits else)."""
    return sum(state.numbers * STATE_BYTES[state.stored_as] for state in layer.states)
