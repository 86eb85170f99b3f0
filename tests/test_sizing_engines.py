"""Engines allocate what their own logs say, and never less than they must."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.sizing import catalogue
from model.sizing.layers import Model
from model.sizing.question import ENGINES, Question
from model.sizing.read_config import read_config
from model.sizing.size import size, total_bytes

NAMES = list({catalogue.model_of(e.name).model_type: e.name for e in catalogue.entries()}.values())
"""One model of each type in the catalogue."""
MIB = 2**20


def held(name: str, tokens: int, engine: str, **asked: Any) -> int:
    return total_bytes(catalogue.load(name), Question(tokens=tokens, engine=engine, **asked))


def test_llama_cpp_gives_its_own_logs():
    assert held("Gemma 3 4B", 131_072, "llama.cpp") == (2560 + 174) * MIB
    assert held("Llama 2 70B", 2_048, "llama.cpp") == 640 * MIB
    assert held("Gemma 4 E4B", 4_096, "llama.cpp", prefill_batch=1_024) == (60 + 64) * MIB
    grows = size(catalogue.load("Qwen3.6-27B"), Question(tokens=262_144, engine="llama.cpp"))
    assert grows.cache_bytes - grows.fixed_bytes == 16_384 * MIB


def test_llama_cpp_recurrent_memory_is_32_bits_and_one_step_shorter():
    model = catalogue.load("Qwen3.6-27B")
    answer = size(model, Question(tokens=256, batch=4, engine="llama.cpp"))
    assert answer.fixed_bytes == 598.5 * MIB


def test_transformers_keeps_one_less_than_a_window():
    model = catalogue.load("Mistral 7B v0.1")
    row = 131_072
    for tokens, kept in ((4_094, 4_094), (4_095, 4_095), (4_096, 4_095), (9_000, 4_095)):
        assert total_bytes(model, Question(tokens=tokens, engine="transformers")) == row * kept


def test_transformers_repeats_falcon_heads():
    assert held("Falcon-40B", 64, "transformers") == 16 * held("Falcon-40B", 64, "ideal")
    assert held("Falcon-180B", 64, "transformers") == 29 * held("Falcon-180B", 64, "ideal")


def test_transformers_4_expands_latents():
    assert held("DeepSeek-V2 (236B)", 7, "transformers-4") == 7 * 60 * 40_960 * 2
    assert held("DeepSeek-V2 (236B)", 7, "transformers") == 7 * 60 * 576 * 2


def test_vllm_counts_whole_blocks():
    row = 131_072
    for tokens, blocks in ((1, 1), (16, 1), (17, 2), (4_096, 256)):
        assert held("Llama 3.1 8B", tokens, "vllm") == row * 16 * blocks


def test_vllm_gives_smaller_pages_more_tokens():
    assert held("Gemma 4 31B", 16, "vllm") == 16 * 983_040
    assert held("Gemma 4 31B", 32, "vllm") == 32 * 983_040 - 10 * 16 * 16_384


def test_vllm_windows_hold_a_prefill_batch_and_a_block():
    config = {
        "model_type": "mistral",
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 64,
        "sliding_window": 1_024,
    }
    question = Question(tokens=100_000, engine="vllm", prefill_batch=2_048)
    blocks = -(-(1_023 + 2_048) // 16) + 1
    assert total_bytes(read_config(config), question) == 2 * 2 * 2 * 16 * 2 * 16 * blocks


@pytest.mark.parametrize("name", NAMES)
def test_no_engine_keeps_less_than_the_ideal_but_for_named_reasons(name: str):
    """Transformers drops one row of a window; vLLM and llama.cpp one step of a convolution."""
    model = catalogue.load(name)
    question = Question(tokens=5_000, k_format="bf16", v_format="bf16", index_format="bf16")
    ideal = total_bytes(model, question)
    states = size(model, question).fixed_bytes
    window_rows = sum(
        2 * r.numbers for layer in model.layers for r in layer.rows if r.window is not None
    )
    for engine in ENGINES:
        values = {"tokens": 5_000, "k_format": "bf16", "index_format": "bf16", "engine": engine}
        assert total_bytes(model, Question(**values)) >= ideal - window_rows - states


@pytest.mark.parametrize("name", NAMES)
def test_the_fast_total_is_the_sum_over_layers(name: str):
    model = catalogue.load(name)
    for engine in ENGINES:
        question = Question(tokens=700, batch=3, engine=engine, tensor_parallel=2)
        answer = size(model, question)
        layered = sum(layer.n_bytes for layer in answer.layers)
        assert total_bytes(model, question) == answer.cache_bytes == layered + answer.padding_bytes


def grouped(kv: int) -> Model:
    return read_config(
        {
            "model_type": "llama",
            "num_hidden_layers": 3,
            "num_attention_heads": 16,
            "num_key_value_heads": kv,
            "hidden_size": 128,
        }
    )


@given(kv=st.sampled_from([1, 2, 4, 8, 16]), ranks=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_ranks_share_heads_and_repeat_them_when_there_are_too_few(kv: int, ranks: int):
    whole = size(grouped(kv), Question(tokens=10))
    parted = size(grouped(kv), Question(tokens=10, tensor_parallel=ranks))
    assert parted.bytes_per_gpu * min(kv, ranks) == whole.cache_bytes
    assert parted.cache_bytes == whole.cache_bytes * max(1, ranks // kv)


def test_latents_are_whole_on_every_rank():
    model = catalogue.load("deepseek-v3")
    alone = size(model, Question(tokens=10))
    parted = size(model, Question(tokens=10, tensor_parallel=8))
    assert parted.bytes_per_gpu == alone.cache_bytes
    assert parted.cache_bytes == 8 * alone.cache_bytes


def test_beams_multiply_both_caches():
    model = catalogue.load("bart-large")
    one = size(model, Question(tokens=20, encoder_tokens=30))
    four = size(model, Question(tokens=20, encoder_tokens=30, beams=4))
    assert four.cache_bytes == 4 * one.cache_bytes


@given(st.integers(1, 6), st.integers(0, 3_000), st.sampled_from([1, 16]))
def test_a_shared_prefix_is_kept_once(batch: int, prefix: int, block: int):
    model = catalogue.load("llama-3-8b")
    tokens, row = 3_000, 131_072
    question = Question(tokens=tokens, batch=batch, shared_prefix=prefix, block_size=block)
    whole = -(-tokens // block) * block
    shared = prefix // block * block
    assert total_bytes(model, question) == row * (batch * whole - (batch - 1) * shared)


def test_a_prefix_that_left_the_window_is_not_shared():
    model = catalogue.load("mistral-7b-v0.1")
    row = 131_072
    question = Question(tokens=5_000, batch=2, shared_prefix=1_000)
    assert total_bytes(model, question) == row * (2 * 4_096 - (1_000 - 904))


def test_blocks_round_rows_up():
    model = catalogue.load("llama-3-8b")
    assert total_bytes(model, Question(tokens=17, block_size=16)) == 131_072 * 32
