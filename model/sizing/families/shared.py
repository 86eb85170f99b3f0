"""Half a decoder that writes one cache and half that reads it: YOCO and its kin."""

from collections.abc import Mapping

from model.sizing.families import patterns
from model.sizing.families.attention import heads_of, layer_count, needed_window
from model.sizing.families.dense import Family, decoder
from model.sizing.families.mamba import expansion, mamba1_states
from model.sizing.fields import Fields
from model.sizing.kinds import full, reuse, stateful, windowed
from model.sizing.layers import Layer


def yoco(fields: Fields) -> list[Layer]:
    """The lower half slides; the upper half shares one global cache (arXiv 2405.05254)."""
    heads = heads_of(fields)
    window = needed_window(fields)
    n_layers = layer_count(fields)
    half = n_layers // 2
    upper = [reuse(i, half, "full", heads.query) for i in range(half + 1, n_layers)]
    return [*(windowed(i, heads, window) for i in range(half)), full(half, heads), *upper]


def phi4_flash(fields: Fields) -> list[Layer]:
    """SambaY: Mamba and windows in turn, one full layer in the middle, then only readers.

    The last Mamba layer before the middle also feeds the gated readers; it is counted once.
    """
    heads = heads_of(fields)
    window = needed_window(fields)
    n_layers = layer_count(fields)
    states = mamba1_states(
        expansion(fields, "mamba_expand"),
        fields.required("mamba_d_state"),
        fields.required("mamba_d_conv"),
    )
    half = n_layers // 2
    layers = [
        windowed(i, heads, window) if i % 2 else stateful(i, "mamba", *states) for i in range(half)
    ]
    layers += [stateful(half, "mamba", *states), full(half + 1, heads)]
    layers += [
        reuse(i, half + 1, "full", heads.query) if i % 2 else reuse(i, half, "gated reader")
        for i in range(half + 2, n_layers)
    ]
    return layers


FAMILIES: Mapping[str, Family] = {
    "hunyuan": decoder(patterns.all_full),
    "phi4flash": phi4_flash,
    "yoco": yoco,
}
