"""Weights of encoder-decoders: both sides are resident though only the decoder keeps a cache."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.latent import Count
from model.sizing.parameters.parts import is_tied, matrix, mlp


@dataclass(frozen=True, kw_only=True)
class Style:
    """What the BART family's members differ in.

    `offset` is added to a learned position table (None: positions are not weights);
    `first_norm` follows the table, `last_norm` the last layer; `key_bias` is Whisper's absence.
    """

    offset: int | None = 2
    first_norm: bool = True
    last_norm: bool = False
    key_bias: bool = True


def attention(width: int, *, key_bias: bool) -> int:
    return 4 * matrix(width, width, bias=True) - (0 if key_bias else width)


def side(width: int, inner: int, n_layers: int, style: Style, *, crosses: int) -> int:
    """One stack: attention once or twice a layer, an MLP, a norm for each."""
    each = (1 + crosses) * attention(width, key_bias=style.key_bias)
    each += mlp(width, inner, gated=False, bias=True) + (2 + crosses) * 2 * width
    norms = int(style.first_norm) + int(style.last_norm)
    return n_layers * each + norms * 2 * width


def both_sides(fields: Fields, layers: list[Layer], style: Style) -> int:
    width = fields.defining("hidden_size")
    encoder = side(
        width, fields.defining("encoder_ffn_dim"), fields.defining("encoder_layers"), style,
        crosses=0,
    )  # fmt: skip
    decoder = side(width, fields.defining("decoder_ffn_dim"), len(layers), style, crosses=1)
    return encoder + decoder


def bart_like(style: Style) -> Count:
    def count(fields: Fields, layers: list[Layer]) -> int:
        width = fields.defining("hidden_size")
        table = fields.defining("vocab_size") * width
        total = both_sides(fields, layers, style) + table * (1 if is_tied(fields) else 2)
        return total + bart_positions(fields, style, width)

    return count


def bart_positions(fields: Fields, style: Style, width: int) -> int:
    """A learned table on each side, where positions are weights."""
    if style.offset is None:
        return 0
    return 2 * (fields.required("max_position_embeddings") + style.offset) * width


def whisper(fields: Fields, layers: list[Layer]) -> int:
    """Two convolutions over the spectrogram, position tables of two lengths."""
    width = fields.defining("hidden_size")
    total = both_sides(fields, layers, Style(first_norm=False, last_norm=True, key_bias=False))
    total += sum(convolutions(fields, width)) + 2 * width + whisper_positions(fields, width)
    return total + fields.defining("vocab_size") * width


def convolutions(fields: Fields, width: int) -> tuple[int, int]:
    """Three frames wide: from the spectrogram's bins to the width, then at half the rate."""
    return width * fields.required("num_mel_bins") * 3, width * width * 3


def whisper_positions(fields: Fields, width: int) -> int:
    positions = fields.required("max_source_positions") + fields.required("max_target_positions")
    return positions * width


def t5(fields: Fields, layers: list[Layer]) -> int:
    """Heads times d_kv may exceed the width; a position bias per stack (per layer in umT5)."""
    width, inner = fields.defining("hidden_size"), fields.required("intermediate_size")
    heads = fields.defining("num_attention_heads")
    each = 4 * width * heads * fields.required("head_dim")
    feed = mlp(width, inner, gated=t5_is_gated(fields))
    n_encoder = fields.required("num_layers")
    n_biases = n_encoder + len(layers) if fields.model_type == "umt5" else 2
    total = n_encoder * (each + feed + 2 * width) + len(layers) * (2 * each + feed + 3 * width)
    total += n_biases * fields.required("relative_attention_num_buckets") * heads + 2 * width
    table = fields.defining("vocab_size") * width
    return total + table * (1 if t5_is_tied(fields) else 2)


def t5_is_gated(fields: Fields) -> bool:
    """Version 1.1 and mT5 have a gate."""
    named = str(fields.given("feed_forward_proj") or fields.default("feed_forward_proj"))
    return named.startswith("gated")


def t5_is_tied(fields: Fields) -> bool:
    """Version 1.1 has an output matrix of its own: the file says so."""
    given = fields.given("tie_word_embeddings")
    return True if given is None else bool(given)


STYLES: Mapping[str, Style] = {
    "bart": Style(),
    "blenderbot": Style(offset=0, first_norm=False, last_norm=True),
    "blenderbot-small": Style(offset=0),
    "m2m_100": Style(offset=None, first_norm=False, last_norm=True),
    "marian": Style(offset=0, first_norm=False),
    "mbart": Style(last_norm=True),
    "mvp": Style(),
    "pegasus": Style(offset=0, first_norm=False, last_norm=True),
    "plbart": Style(),
}
COUNTS: Mapping[str, Count] = {
    **{name: bart_like(style) for name, style in STYLES.items()},
    "mt5": t5,
    "t5": t5,
    "umt5": t5,
    "whisper": whisper,
}
