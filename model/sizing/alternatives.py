"""The same model as it might have been: without grouping, windows, sharing, or latents."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from model.sizing.layers import Layer, Model, Rows, State

Layers = tuple[Layer, ...]


def with_layers(model: Model, layers: Layers) -> Model:
    return replace(model, layers=layers)


def without_grouping(model: Model) -> Model:
    """Every query head keeps a key and a value of its own."""
    return with_layers(model, tuple(ungrouped(layer) for layer in model.layers))


def ungrouped(layer: Layer) -> Layer:
    if layer.query_heads is None:
        return layer
    heads = layer.query_heads

    def widen(held: Rows | State) -> Rows | State:
        plain = isinstance(held, Rows) and held.name in {"key", "value"}
        return replace(held, heads=heads) if plain and isinstance(held, Rows) else held

    return replace(layer, holds=tuple(widen(held) for held in layer.holds))


def without_windows(model: Model) -> Model:
    """Every layer keeps every token it reads."""
    return with_layers(
        model,
        tuple(
            replace(
                layer,
                holds=tuple(
                    replace(h, window=None) if isinstance(h, Rows) else h for h in layer.holds
                ),
            )
            for layer in model.layers
        ),
    )


def without_latents(model: Model) -> Model:
    """A key and a value for every head instead of the latent they are made from."""
    return with_layers(
        model,
        tuple(
            replace(layer, holds=layer.expanded) if layer.expanded else layer
            for layer in model.layers
        ),
    )


def without_sharing(model: Model) -> Model:
    """Layers that read another's cache keep one like it."""
    return with_layers(
        model,
        tuple(
            replace(layer, owner=layer.index, holds=model.layers[layer.owner].holds)
            if not layer.holds and layer.owner != layer.index
            else layer
            for layer in model.layers
        ),
    )


def windowed_with_sinks(model: Model, window: int, sinks: int) -> Model:
    """StreamingLLM: the first `sinks` tokens and the newest `window` (arXiv 2309.17453)."""
    return with_layers(
        model,
        tuple(
            replace(
                layer,
                holds=tuple(
                    replace(h, window=min(h.window or window + sinks, window + sinks))
                    if isinstance(h, Rows) and h.side == "decoder"
                    else h
                    for h in layer.holds
                ),
            )
            for layer in model.layers
        ),
    )


def naive(model: Model) -> Model | None:
    """What `2 x layers x heads x width` counts: full keys and values, all heads, every layer."""
    first = next((layer for layer in model.layers if layer.query_heads and layer.rows), None)
    if first is None or first.query_heads is None:
        return None
    shape = first.expanded or first.rows
    width = max(r.width for r in shape)
    heads = first.query_heads
    return with_layers(
        model,
        tuple(
            Layer(
                index=layer.index,
                kind="full",
                owner=layer.index,
                query_heads=heads,
                holds=(
                    Rows(name="key", role="key", heads=heads, width=width),
                    Rows(name="value", role="value", heads=heads, width=width),
                ),
            )
            for layer in model.layers
        ),
    )


ALTERNATIVES: Mapping[str, Callable[[Model], Model]] = {
    "without grouping": without_grouping,
    "without windows": without_windows,
    "without latents": without_latents,
    "without sharing": without_sharing,
}
