"""Encoder-decoders: only decoder layers keep anything, and they keep two things.

The keys and values of what was written grow; those of what was read are fixed once read.
"""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.families.attention import head_width, heads_of, kv_heads, query_heads
from model.sizing.families.dense import Family, decoder, full
from model.sizing.families.patterns import all_full, every
from model.sizing.fields import Fields, whole
from model.sizing.kinds import Heads, nothing, with_cross
from model.sizing.layers import Layer


def crossed(n_layers: int, heads: Heads) -> list[Layer]:
    return [with_cross(full(i, heads), heads) for i in range(n_layers)]


def t5(fields: Fields) -> list[Layer]:
    """Heads of `d_kv`, whatever d_model is; as many decoder layers as encoder ones unless said."""
    query = query_heads(fields)
    width = fields.integer("head_dim")
    if width is None:
        raise BadInput(fields.missing("d_kv"))
    heads = Heads(query=query, kv=query, key_width=width, value_width=width)
    n_layers = fields.given("num_decoder_layers")
    if n_layers is None:
        n_layers = fields.integer("num_layers")
        fields.assume("num_decoder_layers", n_layers, "absent: as many as num_layers")
    else:
        n_layers = fields.integer("num_decoder_layers")
    if n_layers is None:
        raise BadInput(fields.missing("num_decoder_layers"))
    return crossed(n_layers, heads)


def bart(fields: Fields) -> list[Layer]:
    """BART, Marian, Whisper and their kin: `decoder_layers`, `decoder_attention_heads`."""
    query = fields.defining("decoder_attention_heads")
    heads = Heads(
        query=query,
        kv=query,
        key_width=(width := divided(fields, query)),
        value_width=width,
    )
    return crossed(fields.defining("decoder_layers"), heads)


def divided(fields: Fields, query: int) -> int:
    hidden = fields.defining("hidden_size")
    if hidden % query:
        raise BadInput(f"d_model {hidden:,} does not divide by {query:,} decoder heads")
    return hidden // query


def prophetnet(fields: Fields) -> list[Layer]:
    query = fields.defining("num_decoder_attention_heads")
    width = divided(fields, query)
    heads = Heads(query=query, kv=query, key_width=width, value_width=width)
    return crossed(fields.defining("num_decoder_layers"), heads)


def moonshine(fields: Fields) -> list[Layer]:
    query = fields.defining("decoder_num_attention_heads")
    kv = fields.integer("decoder_num_key_value_heads") or query
    width = divided(fields, query)
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    return crossed(fields.defining("decoder_num_hidden_layers"), heads)


def musicgen(fields: Fields) -> list[Layer]:
    """MusicGen's decoder, conditioned on a text encoder."""
    heads = heads_of(fields)
    return crossed(fields.defining("num_hidden_layers"), heads)


def t5gemma(fields: Fields) -> list[Layer]:
    """A Gemma 2 decoder whose every layer also keeps the encoder's keys and values."""
    heads = heads_of(fields)
    return [with_cross(layer, heads) for layer in decoder(every(2))(fields)]


def mllama(fields: Fields) -> list[Layer]:
    """Llama 3.2 Vision: some layers attend to the image alone and keep only its keys and values."""
    query = query_heads(fields)
    kv = kv_heads(fields, query)
    width = head_width(fields, query)
    heads = Heads(query=query, kv=kv, key_width=width, value_width=width)
    where = fields.numbers("cross_attention_layers")
    if where is None:
        where = [3, 8, 13, 18, 23, 28, 33, 38]
        fields.assume("cross_attention_layers", where, "class default of mllama")
    layers = decoder(all_full)(fields)
    return [
        with_cross(nothing(layer.index, "image"), heads) if layer.index in set(where) else layer
        for layer in layers
    ]


def source_length(fields: Fields) -> tuple[int, str] | None:
    """The encoder tokens to count when the reader does not say, and why so many."""
    if fields.model_type == "mllama_text_model":
        return image_tokens(fields)
    for key in ("max_source_positions", "max_encoder_position_embeddings"):
        value = fields.integer(key)
        if value is not None:
            if fields.model_type == "speech_to_text":
                return -(-value // 4), f"{key} {value:,} after two strided convolutions"
            return value, f"{key} of the file"
    for key in ("max_position_embeddings", "n_positions"):
        value = fields.integer(key)
        if value is not None:
            return value, f"{key} of the file"
    if fields.model_type in T5_LIKE:
        return 512, "no limit in T5: its training length"
    return None


def image_tokens(fields: Fields) -> tuple[int, str]:
    """The tokens of one image in as many tiles as the model takes."""
    tower = fields.outer.get("vision_config")
    sizes = tower if isinstance(tower, Mapping) else {}
    side = whole(sizes.get("image_size", 560), "image_size")
    patch = whole(sizes.get("patch_size", 14), "patch_size")
    tiles = whole(sizes.get("max_num_tiles", 4), "max_num_tiles")
    n_tokens = ((side // patch) ** 2 + 1) * tiles
    return n_tokens, f"one image of {tiles} tiles of {side} x {side} in patches of {patch}"


def crossing(layer: Layer) -> Layer:
    """A plain decoder layer inside an encoder-decoder wrapper, with cross-attention added."""
    rows = layer.rows
    if len(rows) != 2 or layer.query_heads is None:  # noqa: PLR2004 - a key and a value
        raise BadInput(f"a {layer.kind} layer cannot be given cross-attention: give another config")
    key, value = rows
    heads = Heads(
        query=layer.query_heads, kv=key.heads, key_width=key.width, value_width=value.width
    )
    return with_cross(layer, heads)


WRAPPERS = ("encoder-decoder", "speech-encoder-decoder", "vision-encoder-decoder")
T5_LIKE = ("t5", "mt5", "umt5", "longt5", "switch_transformers", "udop", "pop2piano", "byt5")
BART_LIKE = (
    "bart",
    "bigbird_pegasus",
    "blenderbot",
    "blenderbot-small",
    "fsmt",
    "led",
    "m2m_100",
    "marian",
    "mbart",
    "mvp",
    "nllb-moe",
    "pegasus",
    "pegasus_x",
    "plbart",
    "seamless_m4t",
    "seamless_m4t_v2",
    "speech_to_text",
    "trocr",
    "whisper",
)
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(T5_LIKE, t5),
    **dict.fromkeys(BART_LIKE, bart),
    "mllama_text_model": mllama,
    "moonshine": moonshine,
    "musicgen_decoder": musicgen,
    "musicgen_melody_decoder": musicgen,
    "prophetnet": prophetnet,
    "t5gemma": t5gemma,
}
