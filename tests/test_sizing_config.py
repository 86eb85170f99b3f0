"""A config.json is read as people have it; what cannot be known is refused by name."""

from typing import Any

import pytest

from model.errors import BadInput
from model.sizing.pasted import parse_object
from model.sizing.question import Question
from model.sizing.read_config import read_config
from model.sizing.size import Answer, size

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


def answered(config: dict[str, Any], tokens: int = 1, **asked: Any) -> Answer:
    return size(read_config(config), Question(tokens=tokens, **asked))


def per_token(config: dict[str, Any]) -> int:
    return int(answered(config).bytes_per_token_first)


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in config.items() if k not in keys}


SPELLINGS: dict[str, tuple[dict[str, Any], int]] = {
    "llama": (LLAMA, 131_072),
    "llama, head_dim first": (LLAMA | {"head_dim": 64}, 65_536),
    "llama, null key/value heads": (LLAMA | {"num_key_value_heads": None}, 524_288),
    "llama, no key/value heads": (without(LLAMA, "num_key_value_heads"), 524_288),
    "mistral, class default of 8": (
        without(LLAMA, "num_key_value_heads") | {"model_type": "mistral", "sliding_window": None},
        131_072,
    ),
    "named by its class": (
        without(LLAMA, "model_type") | {"architectures": ["LlamaForCausalLM"]},
        131_072,
    ),
    "Mistral's own params.json": (
        {"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "head_dim": 128},
        131_072,
    ),
    "gpt2": ({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768}, 36_864),
    "starcoder": (
        {
            "model_type": "gpt_bigcode",
            "n_layer": 40,
            "n_head": 48,
            "n_embd": 6144,
            "multi_query": True,
        },
        20_480,
    ),
    "falcon-7b, heads that mislead": (
        {
            "model_type": "falcon",
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "num_kv_heads": 71,
            "multi_query": True,
            "hidden_size": 4544,
        },
        8_192,
    ),
    "falcon-40b in its first spelling": (
        {
            "model_type": "RefinedWeb",
            "n_layer": 60,
            "n_head": 128,
            "n_head_kv": 8,
            "hidden_size": 8192,
            "new_decoder_architecture": True,
        },
        122_880,
    ),
    "chatglm3": (
        {
            "model_type": "chatglm",
            "num_layers": 28,
            "num_attention_heads": 32,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "kv_channels": 128,
            "hidden_size": 4096,
        },
        28_672,
    ),
    "mpt, grouped": (
        {
            "model_type": "mpt",
            "d_model": 4096,
            "n_heads": 32,
            "n_layers": 32,
            "attn_config": {"kv_n_heads": 8, "attn_type": "grouped_query_attention"},
        },
        131_072,
    ),
    "dbrx": (
        {
            "model_type": "dbrx",
            "d_model": 6144,
            "n_heads": 48,
            "n_layers": 40,
            "attn_config": {"kv_n_heads": 8},
        },
        163_840,
    ),
    "exaone, num_layers": (
        without(LLAMA, "num_hidden_layers") | {"model_type": "exaone", "num_layers": 32},
        131_072,
    ),
    "openelm, heads layer by layer": (
        {
            "model_type": "openelm",
            "num_transformer_layers": 3,
            "head_dim": 64,
            "num_query_heads": [12, 12, 16],
            "num_kv_heads": [3, 3, 4],
        },
        2 * 64 * (3 + 3 + 4) * 2,
    ),
    "deci, blocks without attention": (
        without(LLAMA, "num_key_value_heads")
        | {
            "model_type": "nemotron-nas",
            "num_hidden_layers": 3,
            "block_configs": [
                {"attention": {"n_heads_in_group": 4}},
                {"attention": {"no_op": True}},
                {"attention": {"n_heads_in_group": 8}},
            ],
        },
        2 * 128 * (8 + 4) * 2,
    ),
    "hunyuan, every second layer shares": (
        LLAMA | {"model_type": "hunyuan", "use_cla": True, "cla_share_factor": 2},
        65_536,
    ),
    "hunyuan, sharing switched off": (
        LLAMA | {"model_type": "hunyuan", "use_cla": False, "cla_share_factor": 2},
        131_072,
    ),
    "llava, a text_config of three keys": (
        {
            "model_type": "llava",
            "text_config": {"model_type": "llama", "vocab_size": 32064},
            "vision_config": {"hidden_size": 1024},
        },
        524_288,
    ),
    "qwen2_vl, flat": (
        LLAMA | {"model_type": "qwen2_vl", "use_sliding_window": False, "sliding_window": 32768},
        131_072,
    ),
    "a wrapper nobody knows": (
        {"model_type": "some_chat", "llm_config": LLAMA | {"architectures": ["X"]}},
        131_072,
    ),
    "gemma 3 4b, five keys": (
        {
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text",
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
        },
        139_264,
    ),
    "qwen 1, two lengths": (
        {
            "model_type": "qwen",
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "hidden_size": 4096,
            "kv_channels": 128,
            "seq_length": 8192,
            "max_position_embeddings": 32768,
        },
        524_288,
    ),
    "kimi linear, layers counted from one": (
        {
            "model_type": "kimi_linear",
            "num_hidden_layers": 27,
            "num_attention_heads": 32,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "head_dim": 72,
            "linear_attn_config": {
                "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
                "kda_layers": [i for i in range(1, 27) if i % 4],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
        },
        8_064,
    ),
    "glm 5.2, an indexer in every fourth": (
        {
            "model_type": "glm_moe_dsa",
            "num_hidden_layers": 78,
            "num_attention_heads": 64,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "head_dim": 64,
            "index_head_dim": 128,
            "index_topk_freq": 4,
        },
        95_232,
    ),
    "deepseek v4, a prediction layer listed": (
        {
            "model_type": "deepseek_v4",
            "num_hidden_layers": 3,
            "num_attention_heads": 64,
            "head_dim": 512,
            "sliding_window": 128,
            "index_head_dim": 128,
            "compress_ratios": [0, 4, 128, 4],
        },
        2 * (3 * 512 + (512 + 128) // 4 + 512 // 128),
    ),
    "olmo, original names": (
        {
            "model_type": "hf_olmo",
            "d_model": 4096,
            "n_heads": 32,
            "n_layers": 32,
            "n_kv_heads": 8,
        },
        131_072,
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_config_is_read_as_written(name: str):
    config, expected = SPELLINGS[name]
    assert per_token(config) == expected


STACKS: dict[str, tuple[dict[str, Any], str]] = {
    "pattern as a number": ({"model_type": "cohere2", "sliding_window_pattern": 2}, "SFSFSF"),
    "pattern in letters": (
        {"model_type": "exaone4", "sliding_window_pattern": "LLG", "num_hidden_layers": 8},
        "SSFSSFSF",
    ),
    "layer_types": (
        {"model_type": "gemma2", "layer_types": ["full_attention"] * 5 + ["sliding_attention"]},
        "FFFFFS",
    ),
    "window switched off": (
        {"model_type": "qwen2", "use_sliding_window": False, "max_window_layers": 2},
        "FFFFFF",
    ),
    "window from a layer on": (
        {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 4},
        "FFFFSS",
    ),
    "a window llama does not have": ({"model_type": "llama"}, "FFFFFF"),
    "mistral, windowed throughout": ({"model_type": "mistral"}, "SSSSSS"),
    "mistral, null window": ({"model_type": "mistral", "sliding_window": None}, "FFFFFF"),
    "mimo's list of zeros and ones": (
        {"model_type": "mimo_v2_flash", "v_head_dim": 4}
        | {"hybrid_layer_pattern": [0, 1, 1, 1, 0, 1]},
        "FSSSFS",
    ),
    "gpt-neo's list of lists": (
        {"model_type": "gpt_neo", "attention_types": [[["global", "local", "local"], 2]]},
        "FSSFSS",
    ),
    "gemma 3, the remainder slides": ({"model_type": "gemma3_text", "num_hidden_layers": 8},
                                      "SSSSSFSS"),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_stack_of_layers_is_the_one_described(name: str):
    changes, expected = STACKS[name]
    base = {
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 32,
        "sliding_window": 16,
    }
    layers = read_config(base | changes).layers
    assert "".join("F" if layer.window is None else "S" for layer in layers) == expected


def test_assumed_values_are_listed():
    config, _ = SPELLINGS["gemma 3 4b, five keys"]
    listed = " ".join(answered(config).assumed)
    for key in ("num_attention_heads = 8", "num_key_value_heads = 4", "head_dim = 256"):
        assert key in listed


def test_a_complete_file_assumes_nothing():
    assert answered(LLAMA).assumed == ()


def test_shared_layers_name_their_owner():
    config = LLAMA | {
        "model_type": "gemma3n_text",
        "num_hidden_layers": 10,
        "num_kv_shared_layers": 4,
        "sliding_window": 8,
    }
    layers = read_config(config).layers
    assert [layer.owner for layer in layers] == [0, 1, 2, 3, 4, 5, 5, 5, 5, 4]
    assert all(not layer.holds for layer in layers[6:])


def test_yoco_keeps_one_global_cache():
    config = LLAMA | {"model_type": "yoco", "sliding_window": 1024}
    tokens = 131_072
    row = 2 * 8 * 128 * 2
    assert answered(config, tokens).cache_bytes == row * (tokens + 16 * 1024)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing at all": ({}, "num_hidden_layers"),
    "a type alone": ({"model_type": "llama"}, "num_hidden_layers"),
    "no depth": (without(LLAMA, "num_hidden_layers"), "num_hidden_layers"),
    "no heads": (without(LLAMA, "num_attention_heads"), "num_attention_heads"),
    "no width": (without(LLAMA, "hidden_size"), "hidden_size"),
    "a type nobody knows": (LLAMA | {"model_type": "frobnicator"}, "frobnicator"),
    "no type and no groups": (without(LLAMA, "model_type", "num_key_value_heads"), "num_key_value"),
    "no type, and a window": (without(LLAMA, "model_type") | {"sliding_window": 9}, "model_type"),
    "an encoder": (LLAMA | {"model_type": "bert"}, "encoder"),
    "text for a number": (LLAMA | {"num_hidden_layers": "32"}, "num_hidden_layers"),
    "a fraction": (LLAMA | {"num_hidden_layers": 31.5}, "num_hidden_layers"),
    "a negative": (LLAMA | {"num_key_value_heads": -8}, "num_key_value_heads"),
    "zero heads": (LLAMA | {"num_attention_heads": 0}, "num_attention_heads"),
    "true for a number": (LLAMA | {"num_hidden_layers": True}, "num_hidden_layers"),
    "a list for a number": (LLAMA | {"hidden_size": [4096]}, "hidden_size"),
    "too deep": (LLAMA | {"num_hidden_layers": 10**12}, "num_hidden_layers"),
    "more digits than fit": (LLAMA | {"num_hidden_layers": 10**400}, "num_hidden_layers"),
    "infinity": (LLAMA | {"hidden_size": float("inf")}, "hidden_size"),
    "not a number": (LLAMA | {"hidden_size": float("nan")}, "hidden_size"),
    "heads that do not group": (LLAMA | {"num_key_value_heads": 5}, "5"),
    "a width that does not divide": (LLAMA | {"hidden_size": 4100}, "head_dim"),
    "two names that disagree": (LLAMA | {"n_layer": 12}, "n_layer"),
    "layer types of another length": (LLAMA | {"layer_types": ["full_attention"]}, "layer_types"),
    "a layer type nobody knows": (LLAMA | {"layer_types": ["odd"] * 32}, "odd"),
    "a window for windowed layers": (
        LLAMA | {"layer_types": ["sliding_attention"] * 32},
        "sliding_window",
    ),
    "more shared layers than layers": (
        LLAMA | {"model_type": "gemma3n_text", "num_kv_shared_layers": 40},
        "num_kv_shared_layers",
    ),
    "a hybrid without its pattern": (LLAMA | {"model_type": "nemotron_h"}, "hybrid_override"),
    "a pattern of other letters": (
        LLAMA | {"model_type": "nemotron_h", "hybrid_override_pattern": "MXM"},
        "hybrid_override_pattern",
    ),
    "a type that is a list": (LLAMA | {"model_type": ["llama"]}, "model_type"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_known_is_refused_by_name(name: str):
    config, named = REFUSED[name]
    with pytest.raises(BadInput) as refusal:
        answered(config)
    line = str(refusal.value)
    assert named in line
    assert "\n" not in line
    assert len(line) < 400


def test_a_reader_may_say_what_it_is_built_like():
    model = read_config(LLAMA | {"model_type": "frobnicator"}, treat_as="llama")
    assert size(model, Question(tokens=1)).bytes_per_token_first == 131_072


PASTED = {
    "nothing": "",
    "prose": "hello",
    "a list": "[1, 2]",
    "a number": "17",
    "cut": '{"model_type": "llama"',
    "python": "{'model_type': 'llama'}",
    "deep": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "digits": '{"a": ' + "9" * 10_000 + "}",
    "ten megabytes": '{"a": "' + "x" * 10_000_000 + '"}',
    "not text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", PASTED)
def test_pasted_rubbish_is_refused_in_one_line(name: str):
    with pytest.raises(BadInput) as refusal:
        parse_object(PASTED[name])
    assert "\n" not in str(refusal.value)


def test_a_large_paste_is_refused_with_both_numbers():
    with pytest.raises(BadInput, match=r"10,000,009 bytes.*1,048,576"):
        parse_object(PASTED["ten megabytes"])


def test_infinity_in_an_unread_key_is_let_through():
    assert parse_object('{"time_step_limit": [0.0, Infinity]}')
