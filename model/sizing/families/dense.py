"""Decoders whose layers keep keys and values of one width: all, a window, a chunk, or shared."""

from collections.abc import Callable, Mapping, Sequence

from model.errors import BadInput
from model.sizing import class_defaults
from model.sizing.families import patterns
from model.sizing.families.attention import (
    Rule,
    heads_of,
    layer_count,
    layer_types,
    needed_window,
)
from model.sizing.fields import Fields
from model.sizing.kinds import Heads, full, reuse, windowed
from model.sizing.layers import Layer

Family = Callable[[Fields], list[Layer]]


def one_layer(fields: Fields, index: int, kind: str, heads: Heads) -> Layer:
    if kind == "full":
        return full(index, heads)
    if kind == "sliding":
        return windowed(index, heads, needed_window(fields))
    if kind == "chunked":
        return windowed(index, heads, needed_window(fields, "attention_chunk_size"), kind="chunked")
    raise BadInput(
        f"layer {index} is of type {kind}, and a {fields.model_type} has full, sliding and "
        "chunked layers only"
    )


def decoder(rule: Rule) -> Family:
    """A decoder of equal heads whose layer types follow `rule`."""

    def layers(fields: Fields) -> list[Layer]:
        n_layers = layer_count(fields)
        heads = heads_of(fields)
        kinds = layer_types(fields, n_layers, rule)
        built = [one_layer(fields, i, kind, heads) for i, kind in enumerate(kinds)]
        return shared_across(fields, built)

    return layers


def uniform(fields: Fields) -> list[Layer]:
    """One kind of layer: windowed where the class has a window and the file gives it one."""
    if class_defaults.has_field(fields.class_type, "sliding_window"):
        return decoder(patterns.all_windowed)(fields)
    if fields.given("sliding_window") not in (None, 0):
        fields.warn(f"sliding_window is in the file, but the code of {fields.model_type} has none")
    return decoder(patterns.all_full)(fields)


def shared_across(fields: Fields, layers: Sequence[Layer]) -> list[Layer]:
    """CLA: every `cla_share_factor` layers read the first one's cache (arXiv 2405.12981)."""
    factor = fields.integer("cla_share_factor") or 1
    if fields.given("use_cla") is False:
        factor = 1
    return [
        layer
        if layer.index % factor == 0
        else reuse(layer.index, layer.index - layer.index % factor, layer.kind, layer.query_heads)
        for layer in layers
    ]


def multi_head(fields: Fields) -> list[Layer]:
    """Models whose code knows no grouping: a key/value head for every query head."""
    given = fields.given("num_key_value_heads")
    heads = fields.given("num_attention_heads")
    if given is not None and given != heads:
        fields.warn(f"num_key_value_heads is in the file, but {fields.model_type} has no groups")
        hidden = fields.names("num_key_value_heads")
        fields.values = {k: v for k, v in fields.values.items() if k not in hidden}
    return decoder(patterns.all_full)(fields)


def modernbert(fields: Fields) -> list[Layer]:
    """ModernBERT as a decoder: every third layer full, half of `local_attention` elsewhere."""
    heads = heads_of(fields)
    window = max(fields.required("local_attention") // 2, 1)
    period = fields.integer("global_attn_every_n_layers") or 3
    kinds = layer_types(
        fields,
        layer_count(fields),
        lambda _f, n: ["sliding" if i % period else "full" for i in range(n)],
    )
    return [
        windowed(i, heads, window) if kind == "sliding" else one_layer(fields, i, kind, heads)
        for i, kind in enumerate(kinds)
    ]


FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(
        (
            "apertus",
            "apertus1p5_text",
            "arcee",
            "aria_text",
            "chameleon",
            "bitnet",
            "cohere",
            "cosmos3_edge_text",
            "cosmos3_omni_text",
            "diffllama",
            "doge",
            "emu3_text_model",
            "ernie4_5",
            "ernie4_5_moe",
            "ernie4_5_vl_moe_text",
            "exaone",
            "flex_olmo",
            "gemma",
            "glm",
            "glm4",
            "glm4_moe",
            "glm4v_text",
            "glm4v_moe_text",
            "glm46v_text",
            "glm_ocr_text",
            "granite",
            "granite4_vision_text",
            "granite_docling_text",
            "granitemoe",
            "granitemoeshared",
            "helium",
            "hunyuan_v1_dense",
            "hunyuan_v1_moe",
            "hunyuan_vl_text",
            "hy_v3",
            "hyperclovax",
            "internlm3",
            "iquestcoder",
            "jais2",
            "llama",
            "minimax_m2",
            "ministral3",
            "mistral",
            "mixtral",
            "moshi",
            "nanochat",
            "nemotron",
            "olmo",
            "olmo2",
            "olmoe",
            "paddleocr_vl_text",
            "phi",
            "phi3",
            "phi4_multimodal",
            "phimoe",
            "qwen2_5_omni_text",
            "qwen3_omni_moe_text",
            "qwen3_vl_text",
            "qwen3_vl_moe_text",
            "sarvam_moe",
            "seed_oss",
            "solar_open",
            "stablelm",
            "starcoder2",
            "video_llama_3_text",
            "voxtral_realtime_text",
        ),
        uniform,
    ),
    **dict.fromkeys(
        (
            "biogpt",
            "bloom",
            "codegen",
            "ctrl",
            "fuyu",
            "gpt2",
            "gpt_neox",
            "gpt_neox_japanese",
            "gptj",
            "openai-gpt",
            "opt",
            "persimmon",
            "xglm",
        ),
        multi_head,
    ),
    "afmoe": decoder(patterns.every(4, "global_attn_every_n_layers")),
    "beam": decoder(patterns.every(6, last_is_full=True)),
    "cohere2": decoder(patterns.every(4)),
    "cohere2_moe": decoder(patterns.cohere2_moe),
    "cohere_compass_text": decoder(patterns.all_full),
    "cwm": decoder(patterns.every_from_first(4)),
    "dots1": decoder(patterns.dots1),
    "exaone4": decoder(patterns.exaone4),
    "exaone4_5_text": decoder(patterns.exaone4),
    "exaone_moe": decoder(patterns.exaone4),
    "flint": decoder(patterns.flint),
    "gemma2": decoder(patterns.every(2)),
    "gpt_oss": decoder(patterns.every(2)),
    "granite_swa": decoder(patterns.every_from_first(4)),
    "granitemoe_swa": decoder(patterns.every_from_first(4)),
    "kolibri1": decoder(patterns.every(5)),
    "laguna": decoder(patterns.all_full),
    "llama4_text": decoder(patterns.llama4),
    "mellum": decoder(patterns.all_full),
    "ministral": decoder(patterns.all_windowed),
    "modernbert-decoder": modernbert,
    "muse_glimmer_text": decoder(patterns.backwards(4)),
    "muse_spark_text": decoder(patterns.backwards(4)),
    "olmo3": decoder(patterns.every(4)),
    "qwen2": decoder(patterns.after_max_window_layers),
    "qwen2_5_vl_text": decoder(patterns.after_max_window_layers),
    "qwen2_moe": decoder(patterns.qwen2_moe),
    "qwen2_vl_text": decoder(patterns.after_max_window_layers),
    "qwen3": decoder(patterns.after_max_window_layers),
    "qwen3_moe": decoder(patterns.switched),
    "smollm3": decoder(patterns.smollm3),
    "t5_gemma_module": decoder(patterns.every(2)),
    "vaultgemma": decoder(patterns.every(2)),
}
