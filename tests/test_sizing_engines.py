"""Engines allocate what their own logs say, and never less than they must."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.sizing import catalogue
from model.sizing.alternatives import ALTERNATIVES
from model.sizing.engines import NotInEngine
from model.sizing.formats import FORMATS
from model.sizing.layers import Model
from model.sizing.question import ENGINES, Question
from model.sizing.read_config import read_config
from model.sizing.report import as_dict, views
from model.sizing.size import size, total_bytes

NAMES = list({catalogue.model_of(e.name).model_type: e.name for e in catalogue.entries()}.values())
"""One model of each type in the catalogue."""
MIB = 2**20
HELD = {
    "transformers": ["fp32", "bf16", "fp16", "quanto2", "quanto4"],
    "transformers-4": ["fp32", "bf16", "fp16", "quanto2", "quanto4"],
    "vllm": ["fp32", "bf16", "fp16", "fp8", "fp8_per_token_head", "int8", "nvfp4"],
    "llama.cpp": ["fp32", "bf16", "fp16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"],
}
"""Formats of keys and values, as each engine's documentation lists them."""


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
    """Transformers drops one row of a window; vLLM and llama.cpp one step of a convolution.

    Index keys are those of vLLM in every view, for it stores them in FP8 and the others in 16 bits.
    """
    model = catalogue.load(name)
    formats: dict[str, Any] = {"k_format": "bf16", "v_format": "bf16"}
    question = Question(tokens=5_000, index_format="fp8_block128", **formats)
    ideal = total_bytes(model, question)
    states = size(model, question).fixed_bytes
    window_rows = sum(
        2 * r.numbers for layer in model.layers for r in layer.rows if r.window is not None
    )
    for engine in ENGINES:
        index = "auto" if engine == "vllm" else "bf16"
        asked = Question(tokens=5_000, index_format=index, engine=engine, **formats)
        if name == "DeepSeek-V4.1-Flash" and engine == "vllm":
            with pytest.raises(NotInEngine):
                total_bytes(model, asked)
            continue
        assert total_bytes(model, asked) >= ideal - window_rows - states


@pytest.mark.parametrize("name", NAMES)
def test_the_fast_total_is_the_sum_over_layers(name: str):
    model = catalogue.load(name)
    for engine in ENGINES:
        question = Question(tokens=700, batch=3, engine=engine, tensor_parallel=2)
        if name == "DeepSeek-V4.1-Flash" and engine != "ideal":
            with pytest.raises(NotInEngine):
                size(model, question)
            continue
        answer = size(model, question)
        layered = sum(layer.n_bytes for layer in answer.layers)
        assert total_bytes(model, question) == answer.cache_bytes == layered + answer.padding_bytes


def test_vllm_pages_v4_as_its_own_log_says():
    """vllm-project/vllm#44376: 30,000 tokens, fp8, blocks of 256: "6.66 GiB KV cache is needed"."""
    asked = {"k_format": "fp8_ds_v4", "prefill_batch": 16_384}
    entries, index, heavy = 37_440, 8_640, 1_728  # 64 x 584, 64 x 132, 2 x 584, to 576 rounded
    blocks = 118 + 2 * 259 + 4_099 + 2_065  # entries; windows in two tables; the compressors
    needed = held("DeepSeek-V4-Flash", 30_000, "vllm", **asked)
    assert needed == blocks * 22 * (entries + index + heavy)
    assert round(needed / 2**30, 2) == 6.66
    assert held("DeepSeek-V4-Flash", 13_528, "vllm", **asked) < 5.44 * 2**30
    assert held("DeepSeek-V4-Flash", 13_600, "vllm", **asked) > 5.44 * 2**30


def test_vllm_keeps_heavily_compressed_layers_in_pages_of_their_own():
    ideal, paged = (held("DeepSeek-V4-Flash", 2**20, e) for e in ("ideal", "vllm"))
    assert paged < 2 * ideal
    grows = held("DeepSeek-V4-Flash", 2**21, "vllm") - paged
    assert grows == 2**20 // 256 * 22 * (65_536 + 8_704 + 2_048)


@pytest.mark.parametrize("tokens", [0, 1, 200, 20_000, 500_000])
@pytest.mark.parametrize("change", ALTERNATIVES)
def test_a_pool_of_pages_holds_what_lies_in_it(change: str, tokens: int):
    model = catalogue.load("DeepSeek-V4-Flash")
    question = Question(tokens=tokens, batch=2, shared_prefix=tokens // 2, engine="vllm")
    changed = size(ALTERNATIVES[change](model), question)
    assert changed.padding_bytes >= 0
    assert changed.cache_bytes >= total_bytes(model, question)


def test_vllm_stores_an_index_key_with_its_scale():
    """DeepseekV32IndexerCache: 128 bytes and one fp32 scale, whatever format is asked for."""
    for index in ("auto", "fp8"):
        paged = held("DeepSeek-V3.2", 4_096, "vllm", k_format="fp8_ds_mla", index_format=index)
        assert paged == 61 * 4_096 * (656 + 132)
    with pytest.raises(NotInEngine, match="fp8_block128"):
        held("DeepSeek-V3.2", 4_096, "vllm", index_format="bf16")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fmt", FORMATS)
def test_an_engine_keeps_its_own_formats_alone(engine: str, fmt: str):
    model = catalogue.load("Llama 3 8B")
    question = Question(tokens=10, k_format=fmt, v_format=fmt)
    if fmt in ("fp8_ds_mla", "fp8_ds_v4"):
        return
    seen = views(model, question)
    assert (engine in seen.n_bytes) == (engine == "ideal" or fmt in HELD[engine])
    assert set(seen.n_bytes) | set(seen.not_in_engine) == set(ENGINES)
    assert not set(seen.n_bytes) & set(seen.not_in_engine)
    if engine in seen.not_in_engine:
        assert fmt in seen.not_in_engine[engine]
        with pytest.raises(NotInEngine):
            total_bytes(model, replace(question, engine=engine))


@pytest.mark.parametrize("name", ["DeepSeek-V3", "DeepSeek-V3.2"])
def test_latents_in_fp8_are_sized_though_one_engine_has_no_latents(name: str):
    model = catalogue.load(name)
    for engine in ("ideal", "vllm"):
        question = Question(tokens=100, engine=engine, k_format="fp8_ds_mla", v_format="fp8_ds_mla")
        told = as_dict(size(model, question))
        assert told["cache_bytes"] == told["views"][engine]
        assert set(told["not_in_engine"]) == {"transformers", "transformers-4", "llama.cpp"}


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


def test_beams_read_one_source_but_transformers_copies_it():
    """BART-large, 20 tokens and 30 of the source: 12 layers of 16 heads of 64, key and value."""
    row = 12 * 2 * 1_024 * 2
    asked = {"encoder_tokens": 30, "batch": 2, "beams": 4}
    assert held("bart-large", 20, "ideal", **asked) == row * (8 * 20 + 2 * 30)
    assert held("bart-large", 20, "transformers", **asked) == row * 8 * (20 + 30)


@given(st.integers(1, 6), st.integers(0, 3_000), st.sampled_from([1, 16]))
def test_a_shared_prefix_is_kept_once(batch: int, prefix: int, block: int):
    model = catalogue.load("llama-3-8b")
    tokens, row = 3_000, 131_072
    question = Question(tokens=tokens, batch=batch, shared_prefix=prefix, block_size=block)
    whole = -(-tokens // block) * block
    shared = prefix // block * block
    assert total_bytes(model, question) == row * (batch * whole - (batch - 1) * shared)


def test_engines_share_a_prefix_as_they_can():
    """Whole blocks of 16 in vLLM, llama.cpp cells, transformers nothing."""
    row, asked = 131_072, {"batch": 2, "shared_prefix": 100}
    assert held("Llama 3 8B", 200, "vllm", **asked) == row * (2 * 208 - 96) == 41_943_040
    assert held("Llama 3 8B", 200, "transformers", **asked) == row * 400
    assert held("Llama 3 8B", 200, "llama.cpp", **asked) == row * 512
    asked = {"batch": 3, "shared_prefix": 1_000}
    assert held("Llama 3 8B", 1_100, "llama.cpp", **asked) == row * 1_536


def test_a_prefix_that_left_the_window_is_not_shared():
    model = catalogue.load("mistral-7b-v0.1")
    row = 131_072
    question = Question(tokens=5_000, batch=2, shared_prefix=1_000)
    assert total_bytes(model, question) == row * (2 * 4_096 - (1_000 - 904))


def test_blocks_round_rows_up():
    model = catalogue.load("llama-3-8b")
    assert total_bytes(model, Question(tokens=17, block_size=16)) == 131_072 * 32
