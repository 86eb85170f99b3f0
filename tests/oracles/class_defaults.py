"""The defaults of transformers' configuration classes, and a way to write them anew.

``python -m tests.oracles.class_defaults`` rewrites model/sizing/class_defaults.json.
"""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

PATH = Path(__file__).parents[2] / "model" / "sizing" / "class_defaults.json"
IRRELEVANT = [
    "token_id", "dropout", "rope", "initializer", "_std", "jitter", "eps", "logit", "loss",
    "init_", "label", "image", "audio", "video", "vision", "speech", "dtype", "time_step",
    "use_cache", "return_dict", "output_", "architectures", "pretraining", "problem",
    "chunk_size_feed", "transformers", "patch", "drop_path", "scal", "topk_group", "summary",
    "alpha", "beta", "norm_topk", "num_channels", "layerdrop", "projector", "mask", "codebook",
    "classifier", "quant", "beam", "length_penalty", "early", "torchscript", "kernels",
    "mambapy", "associative", "sampling", "lower_bound", "softcap", "limit", "bos", "eos",
    "pad_", "sep_", "delay", "cls_", "tokens_per",
]  # fmt: skip
KEPT_ANYWAY = {
    "activation_function",
    "attention_chunk_size",
    "hidden_act",
    "mlp_hidden_act",
    "hidden_activation",
    "feed_forward_proj",
    "no_rope_layer_interval",
    "no_rope_layers",
    "qk_rope_head_dim",
    "use_double_wide_mlp",
}
DROPPED = {"n_group", "is_decoder", "add_cross_attention"}


def relevant(name: str, value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if not isinstance(value, (int, str, bool, list, dict, type(None), float)):
        return False
    if name in DROPPED or (name.endswith("_multiplier") and "ffn" not in name):
        return False
    return name in KEPT_ANYWAY or not any(part in name for part in IRRELEVANT)


def defaults_of(config_class: type) -> dict[str, Any]:
    """The dataclass defaults that bear on sizes, nulls left out."""
    found = {}
    for field in dataclasses.fields(config_class):
        value = field.default
        if field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if value is None or value is dataclasses.MISSING or not relevant(field.name, value):
            continue
        if isinstance(value, (list, dict)) and not json_able(value):
            continue
        found[field.name] = value
    return found


def json_able(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def describe(config_class: Any) -> dict[str, Any]:
    names = {k: v for k, v in (config_class.attribute_map or {}).items() if relevant(k, 0)}
    return {
        "defaults": defaults_of(config_class),
        "names": names,
        "fields": sorted(
            f.name
            for f in dataclasses.fields(config_class)
            if f.default is None and relevant(f.name, 0)
        ),
        "inside": nested_types(config_class),
    }


def nested_types(config_class: Any) -> dict[str, str]:
    """Key of each nested text config to the type it has when it does not say."""
    found = {}
    fallbacks = getattr(config_class, "sub_configs_defaults", None) or {}
    for key, inner in (config_class.sub_configs or {}).items():
        own = getattr(inner, "model_type", None) or ""
        fallback = getattr(fallbacks.get(key), "model_type", None) or ""
        if (own or fallback) and ("text" in key or key in {"decoder", "thinker_config"}):
            found[key] = own or fallback
    return found


def all_classes() -> dict[str, Any]:
    wanted = {
        *auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        *auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        *auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        *auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
    }
    classes: dict[str, Any] = {}
    for name in sorted(wanted):
        _collect(CONFIG_MAPPING[name], classes)
    return classes


def _collect(config_class: Any, classes: dict[str, Any]) -> None:
    if config_class.model_type in classes:
        return
    classes[config_class.model_type] = config_class
    for key, inner in (config_class.sub_configs or {}).items():
        texty = "text" in key or key in {"decoder", "encoder", "thinker_config"}
        if texty and getattr(inner, "model_type", None):
            _collect(inner, classes)


def build() -> dict[str, Any]:
    return {
        "source": f"configuration classes of transformers {transformers.__version__} (Apache-2.0)",
        "classes": {name: describe(c) for name, c in sorted(all_classes().items())},
    }


def write() -> None:
    built = build()
    lines = [
        f"  {json.dumps(name)}: {json.dumps(entry, sort_keys=True)}"
        for name, entry in built["classes"].items()
    ]
    text = (
        "{\n"
        f'"source": {json.dumps(built["source"])},\n'
        '"classes": {\n' + ",\n".join(lines) + "\n}\n}\n"
    )
    PATH.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
