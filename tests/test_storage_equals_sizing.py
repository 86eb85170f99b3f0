"""What the calculator says a cache takes is what the stores really reserve, to the byte."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.attention.compressed.cache import CompressedCache
from model.attention.compressed.config import FLASH, INDEX_ROW, MAIN_ROW, WINDOW_ROW
from model.sizing import catalogue
from model.sizing.formats import FORMATS
from model.sizing.layers import Rows
from model.sizing.question import Question
from model.sizing.read_config import read_config
from model.sizing.size import total_bytes
from model.storage import STORAGE
from model.storage.base import MakeStorage, Room, Storage
from model.storage.contiguous import Contiguous
from model.storage.growing import Growing
from model.storage.quantised import Quantised
from model.storage.ring import Ring

D, HEADS = 64, 2
STORES: dict[str, tuple[Callable[..., Storage], torch.dtype]] = {
    "fp32": (Growing, torch.float32),
    "bf16": (Growing, torch.bfloat16),
    "fp16": (Growing, torch.float16),
    "fp8": (STORAGE["fp8-e4m3"], torch.float16),
    "fp8_per_token_head": (STORAGE["fp8-e4m3-scaled"], torch.float16),
    "int8": (STORAGE["int8"], torch.float16),
    "nvfp4": (STORAGE["fp4"], torch.float16),
    "mxfp4": (STORAGE["mxfp4"], torch.float16),
    "mxfp8": (STORAGE["mxfp8"], torch.float16),
    "kivi2": (STORAGE["kivi-2"], torch.float16),
    "kivi4": (STORAGE["kivi-4"], torch.float16),
}


@pytest.mark.parametrize("name", STORES)
@given(n=st.integers(1, 300))
def test_a_format_takes_the_bytes_a_store_of_it_holds(name: str, n: int):
    make, dtype = STORES[name]
    store = make(Room(kv_heads=HEADS, d_key=D, d_value=D, capacity=300, dtype=dtype))
    rows = torch.zeros(HEADS, n, D, dtype=dtype)
    store.append(rows, rows)
    said = [
        FORMATS[name].n_bytes(Rows(name="rows", role=role, width=D, heads=HEADS), n)
        for role in ("key", "value")
    ]
    assert store.nbytes_held == sum(said)


LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "vocab_size": 100,
    "head_dim": 16,
    "torch_dtype": "bfloat16",
}
MISTRAL = LLAMA | {"model_type": "mistral", "sliding_window": 8}
GEMMA = LLAMA | {
    "model_type": "gemma3_text",
    "num_hidden_layers": 8,
    "sliding_window": 8,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"] + ["sliding_attention"] * 2),
}
DEEPSEEK = LLAMA | {
    "model_type": "deepseek_v2",
    "num_key_value_heads": 8,
    "kv_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "q_lora_rank": None,
}
GQA = Room(kv_heads=2, d_key=16, d_value=16, capacity=50, dtype=torch.bfloat16)
LATENT = Room(kv_heads=1, d_key=24, d_value=8, capacity=50, dtype=torch.bfloat16)
ROLLING: MakeStorage = partial(Ring, window=8)
MODELS: dict[str, tuple[dict[str, Any], Room, Sequence[MakeStorage]]] = {
    "llama": (LLAMA, GQA, [Contiguous] * 4),
    "mistral": (MISTRAL, GQA, [ROLLING] * 4),
    "gemma-3": (GEMMA, GQA, [ROLLING] * 5 + [Contiguous] + [ROLLING] * 2),
    "deepseek-v2": (DEEPSEEK, LATENT, [Contiguous] * 4),
}


@pytest.mark.parametrize("name", MODELS)
@given(n=st.integers(1, 50))
def test_a_config_takes_the_bytes_its_stores_hold(name: str, n: int):
    config, room, makers = MODELS[name]
    stores = [make(room) for make in makers]
    for store in stores:
        k, v = room.empty(n)
        store.append(k.zero_(), v.zero_())
    question = Question(tokens=n, k_format="bf16", v_format="bf16")
    assert total_bytes(read_config(config), question) == sum(s.nbytes_held for s in stores)


def test_deepseek_v4_1_flash_takes_the_bytes_its_stores_reserve():
    rows = partial(Quantised, key=MAIN_ROW, value=INDEX_ROW)
    ring = partial(Ring, window=FLASH.window)
    window = partial(Quantised, key=WINDOW_ROW, value=WINDOW_ROW, rows=ring)
    cache = CompressedCache(FLASH, 1024, rows=rows, window=window)
    measured = cache.entry_bytes + sum(store.nbytes for store in cache.windows)
    model = catalogue.load("DeepSeek-V4.1-Flash")
    said = [total_bytes(model, Question(tokens=n)) for n in (1024, 2048)]
    assert said[1] - said[0] == cache.entry_bytes == 890 * 1024
    assert said[0] == measured
