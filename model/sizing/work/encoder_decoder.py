"""Encoder-decoders: the source is read once, the decoder attends to it and to what it wrote."""

from collections.abc import Callable, Mapping

from model.layer_work import LayerWork
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters import encoder_decoder
from model.sizing.parameters.parts import is_tied, mlp, named
from model.sizing.work.parts import Body
from model.work import EncoderWork

Count = Callable[[Fields, list[Layer], int], Body]


def encoder_layer(hidden: int, heads_width: int, feed: int) -> LayerWork:
    """Full heads over the whole source, and a feed-forward network."""
    return LayerWork(
        weights=4 * hidden * heads_width + feed, score_width=heads_width, mix_width=heads_width
    )


def decoder_layer(layer: Layer, hidden: int, feed: int, source: int) -> LayerWork:
    """Self-attention and feed-forward; beside it, queries for the source and the way out."""
    key, value = named(layer.rows, "key"), named(layer.rows, "value")
    wide = key.numbers if key and value else 0
    cross = LayerWork(
        weights=2 * hidden * wide, score_width=wide, mix_width=wide, row=2 * wide, source=source
    )
    return LayerWork(
        weights=4 * hidden * wide + feed,
        score_width=wide,
        mix_width=wide,
        row=2 * wide,
        written=2 * wide,
        beside=(cross,),
    )


def cross_matrices(layers: list[Layer], hidden: int) -> int:
    """What makes keys and values of the encoder's output, for all decoder layers."""
    return sum(hidden * rows.numbers for layer in layers for rows in layer.cross_rows)


def said(source: int) -> tuple[str, ...]:
    return (f"the encoder reads {source:,} tokens, once, in the prefill",)


def bart_like(fields: Fields, layers: list[Layer], source: int) -> Body:
    """BART and its kin; the tables beside the output matrix are words' and positions'."""
    hidden = fields.defining("hidden_size")
    feeds = [mlp(hidden, fields.defining(f"{side}_ffn_dim"), gated=False) for side in SIDES]
    encoder = EncoderWork(
        source=source,
        layers=(encoder_layer(hidden, hidden, feeds[0]),) * fields.defining("encoder_layers"),
        cross=cross_matrices(layers, hidden),
    )
    style = encoder_decoder.STYLES[fields.model_type]
    words = 0 if is_tied(fields) else hidden * fields.defining("vocab_size")
    return Body(
        layers=tuple(decoder_layer(layer, hidden, feeds[1], source) for layer in layers),
        table=words + encoder_decoder.bart_positions(fields, style, hidden),
        encoder=encoder,
        assumed=said(source),
    )


SIDES = ("encoder", "decoder")


def whisper(fields: Fields, layers: list[Layer], source: int) -> Body:
    """Two convolutions first: over every frame, then over every other one."""
    hidden = fields.defining("hidden_size")
    feeds = [mlp(hidden, fields.defining(f"{side}_ffn_dim"), gated=False) for side in SIDES]
    first, second = encoder_decoder.convolutions(fields, hidden)
    encoder = EncoderWork(
        source=source,
        layers=(encoder_layer(hidden, hidden, feeds[0]),) * fields.defining("encoder_layers"),
        cross=cross_matrices(layers, hidden),
        stem=first + second,
        stem_flops=2 * (2 * first + second) * source,
    )
    return Body(
        layers=tuple(decoder_layer(layer, hidden, feeds[1], source) for layer in layers),
        table=encoder_decoder.whisper_positions(fields, hidden),
        encoder=encoder,
        assumed=said(source),
    )


def t5(fields: Fields, layers: list[Layer], source: int) -> Body:
    """Heads of `d_kv`, which together may be wider than the model; positions are biases."""
    hidden = fields.defining("hidden_size")
    wide = fields.defining("num_attention_heads") * fields.required("head_dim")
    gated = encoder_decoder.t5_is_gated(fields)
    feed = mlp(hidden, fields.required("intermediate_size"), gated=gated)
    encoder = EncoderWork(
        source=source,
        layers=(encoder_layer(hidden, wide, feed),) * fields.required("num_layers"),
        cross=cross_matrices(layers, hidden),
    )
    tied = encoder_decoder.t5_is_tied(fields)
    return Body(
        layers=tuple(decoder_layer(layer, hidden, feed, source) for layer in layers),
        table=0 if tied else hidden * fields.defining("vocab_size"),
        encoder=encoder,
        assumed=said(source),
    )


WORKS: Mapping[str, Count] = {
    **dict.fromkeys(encoder_decoder.STYLES, bart_like),
    **dict.fromkeys(("mt5", "t5", "umt5"), t5),
    "whisper": whisper,
}
