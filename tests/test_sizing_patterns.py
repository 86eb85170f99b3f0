"""Layer types and class defaults are those of transformers' own configuration classes."""

import json
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from transformers.cache_utils import get_layer_types_and_kwargs

from model.sizing import class_defaults
from model.sizing.families.table import FAMILIES
from model.sizing.read_config import read_config
from tests.oracles import class_defaults as oracle
from tests.oracles.real_cache import config_of
from tests.oracles.tiny import base

KINDS = {"full_attention": "full", "sliding_attention": "sliding", "chunked_attention": "chunked"}
DEPTH = st.integers(1, 40)
PERIOD = st.integers(1, 9)
SWITCH = st.booleans()
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "afmoe": ("afmoe", {"global_attn_every_n_layers": PERIOD}),
    "beam": ("beam", {}),
    "cohere2": ("cohere2", {"sliding_window_pattern": PERIOD}),
    "cohere2, its own period": ("cohere2", {}),
    "cwm": ("cwm", {}),
    "dots1": ("dots1", {"max_window_layers": DEPTH}),
    "exaone4": ("exaone4", {"sliding_window_pattern": PERIOD}),
    "flint": ("flint", {}),
    "gemma2": ("gemma2", {}),
    "gemma3": ("gemma3_text", {"sliding_window_pattern": PERIOD}),
    "gemma3, its own period": ("gemma3_text", {}),
    "gemma4": ("gemma4_text", {}),
    "gpt_oss": ("gpt_oss", {}),
    "granite_swa": ("granite_swa", {}),
    "kolibri1": ("kolibri1", {}),
    "llama4": ("llama4_text", {"attention_chunk_size": st.just(8)}),
    "llama4, empty list": (
        "llama4_text",
        {"attention_chunk_size": st.just(8), "no_rope_layers": st.just([])},
    ),
    "mistral": ("mistral", {}),
    "mistral, null": ("mistral", {"sliding_window": st.none()}),
    "mixtral": ("mixtral", {}),
    "ministral": ("ministral", {"head_dim": st.just(8)}),
    "olmo3": ("olmo3", {}),
    "phi3": ("phi3", {}),
    "qwen2": ("qwen2", {"use_sliding_window": SWITCH, "max_window_layers": DEPTH}),
    "qwen2_moe": ("qwen2_moe", {"use_sliding_window": SWITCH, "max_window_layers": DEPTH}),
    "qwen3": ("qwen3", {"use_sliding_window": SWITCH, "max_window_layers": DEPTH}),
    "qwen3_moe": ("qwen3_moe", {"use_sliding_window": SWITCH}),
    "smollm3": ("smollm3", {"use_sliding_window": SWITCH, "no_rope_layer_interval": PERIOD}),
    "starcoder2": ("starcoder2", {}),
}


@pytest.mark.parametrize("name", RULES)
@given(depth=DEPTH, data=st.data())
def test_layers_are_of_the_types_the_class_gives(name: str, depth: int, data: st.DataObject):
    model_type, choices = RULES[name]
    raw = base(num_hidden_layers=depth, sliding_window=8)
    raw |= {key: data.draw(choice) for key, choice in choices.items()}
    types, settings = get_layer_types_and_kwargs(config_of(model_type, raw))
    theirs = [
        (KINDS[kind], setting.get("sliding_window"))
        for kind, setting in zip(types, settings, strict=True)
    ]
    ours = [
        (layer.kind, layer.window) for layer in read_config(raw | {"model_type": model_type}).layers
    ]
    assert ours == theirs


def test_class_defaults_are_the_installed_classes_own():
    shipped = json.loads(oracle.PATH.read_text())
    if transformers.__version__ not in shipped["source"]:
        pytest.skip(f"the file is of another version than {transformers.__version__}")
    assert shipped == json.loads(json.dumps(oracle.build()))


def test_every_text_class_is_known_or_refused_on_purpose():
    """New types of a new version show up here, to be read or to be left out."""
    texts = {
        inner for t in class_defaults.model_types() for inner in class_defaults.inside(t).values()
    }
    left_out = {
        "bert",
        "blip_text_model",
        "deepseek_ocr2_text",
        "inkling2_loop_text",
        "inkling2_text",
        "inkling_text",
        "kosmos_2_5_text_model",
        "kosmos_2_text_model",
        "mistral_large4_text",
        "molmo2_text",
        "pix2struct_text_model",
        "pp_formulanet_text",
        "qwen4_exp_text",
        "t5gemma2_decoder",
        "t5gemma2_text",
        "unlimited_ocr_text",
    }
    assert texts - set(FAMILIES) == left_out
