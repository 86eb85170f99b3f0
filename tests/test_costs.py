"""The formulas count what the running code does, and bound how long a chip must take."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from model.config import DecoderConfig
from model.costs import (
    attention_intensity,
    decode_step,
    prefill_step,
)
from model.decoder import Decoder
from model.errors import BadInput
from model.hardware import CHIPS, Chip
from model.layer_work import ExpertWork, LayerWork
from model.measure import Plan
from model.work import (
    classic,
    decoder_work,
    dense_layer,
    square_prefill_flops,
)
from model.work_of import work_of

H100 = CHIPS["h100"]
LLAMA_3_8B = work_of("Llama 3 8B")

CONFIGS = {
    "MHA": DecoderConfig(n_heads=4, n_kv_heads=4),
    "GQA": DecoderConfig(n_heads=4, n_kv_heads=2),
    "MQA, wide heads": DecoderConfig(n_heads=6, n_kv_heads=1, d_head=10, d_ff=20, n_layers=3),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())

LAYERS = st.builds(
    LayerWork,
    weights=st.integers(0, 10**6),
    score_width=st.integers(1, 512),
    mix_width=st.integers(1, 512),
    row=st.integers(1, 512),
    written=st.integers(1, 512),
    window=st.one_of(st.none(), st.integers(1, 40)),
    best=st.one_of(st.none(), st.integers(1, 40)),
    index_width=st.integers(0, 64),
    index_most=st.one_of(st.none(), st.integers(1, 40)),
    token_flops=st.integers(0, 512),
)
ENTRIES = st.builds(
    LayerWork,
    weights=st.integers(0, 10**6),
    score_width=st.integers(1, 512),
    mix_width=st.integers(1, 512),
    every=st.integers(1, 9),
    row_weights=st.integers(0, 100),
    best=st.one_of(st.none(), st.integers(1, 40)),
    index_width=st.integers(0, 64),
    index_most=st.one_of(st.none(), st.integers(1, 40)),
)
CROSSING = st.builds(
    LayerWork, weights=st.integers(0, 99), score_width=st.integers(1, 99), source=st.integers(1, 99)
)
LAYERS_OF_PARTS = st.builds(
    replace, LAYERS, beside=st.lists(st.one_of(LAYERS, ENTRIES, CROSSING), max_size=2).map(tuple)
)


def counted(decoder: Decoder, tokens: list[int], cache: object = None) -> int:
    """FLOPs of the matrix products PyTorch really runs."""
    with FlopCounterMode(display=False) as counter:
        decoder(torch.tensor(tokens), cache)
    return counter.get_total_flops()


@every_config
def test_a_decode_step_runs_the_flops_of_the_formula(config: DecoderConfig):
    decoder, work = Decoder(config, seed=0), decoder_work(config)
    cache = decoder.new_cache(16)
    for context in range(1, 12):
        assert counted(decoder, [context % config.vocab_size], cache) == work.decode_flops(context)


@every_config
def test_a_prefill_pass_runs_the_square_and_all_logits(config: DecoderConfig):
    decoder, work = Decoder(config, seed=0), decoder_work(config)
    for n in (1, 2, 9):
        square = sum(square_prefill_flops(layer, n) for layer in work.layers)
        assert counted(decoder, list(range(n))) == square + 2 * work.head * n


@every_config
def test_matrices_of_the_decoder_are_the_weights_counted(config: DecoderConfig):
    decoder, work = Decoder(config, seed=0), decoder_work(config)
    matrices = sum(p.numel() for p in decoder.parameters() if p.ndim > 1)
    assert matrices == work.weights_kept
    rows = sum(room.numbers_per_token for room in decoder.rooms(8))
    assert rows == work.cache_written()


@given(LAYERS_OF_PARTS, st.integers(1, 60))
def test_causal_prefill_is_exactly_the_sum_of_its_decode_steps(layer: LayerWork, n: int):
    assert layer.prefill_flops(n) == sum(layer.decode_flops(t) for t in range(1, n + 1))


@given(LAYERS_OF_PARTS, st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_prefill_costs_the_same_in_any_chunks(layer: LayerWork, chunks: list[int]):
    cached, total = 0, 0
    for chunk in chunks:
        total += layer.prefill_flops(chunk, cached)
        cached += chunk
    assert total == layer.prefill_flops(cached)


@given(st.integers(1, 64), st.integers(1, 300))
def test_the_classic_block_is_24_d_squared_and_4_d_t(heads: int, context: int):
    d = 64 * heads
    assert classic(d).decode_flops(context) == 24 * d**2 + 4 * d * context
    causal = 24 * context * d**2 + 2 * context * (context + 1) * d
    assert classic(d).prefill_flops(context) == causal
    square = 24 * context * d**2 + 4 * context**2 * d
    assert square_prefill_flops(classic(d), context) == square


def test_worked_flops_are_reproduced():
    block = classic(4096)
    assert square_prefill_flops(block, 2048) == 893_353_197_568
    assert block.prefill_flops(2048) == 859_010_236_416
    assert block.decode_flops(2048) == 436_207_616
    assert block.decode_flops(2248) == 439_484_416
    assert square_prefill_flops(block, 2048) / block.decode_flops(2048) == 2048
    assert block.prefill_flops(2048) // block.decode_flops(2048) == 1969
    assert sum(block.decode_flops(2048 + i) for i in range(1, 200)) == 87_131_357_184


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("GPT-2 small (124M)", 24),
        ("Llama 2 7B", 24.125),
        ("Llama 3 8B", 26),
        ("Mistral 7B v0.1", 26),
        ("Llama 3 70B", 25.5),
    ],
)
def test_linear_work_in_units_of_d_squared_is_reproduced(name: str, units: float):
    work = work_of(name)
    d = {"GPT-2 small (124M)": 768, "Llama 3 70B": 8192}.get(name, 4096)
    assert 2 * work.layers[0].weights_used / d**2 == units


@given(st.integers(0, 6), st.integers(1, 50))
def test_grouping_heads_saves_bytes_and_no_score_flops(power: int, context: int):
    shapes = {"d_model": 512, "heads": 64, "d_head": 8, "d_ff": 8, "feed_forward_matrices": 2}
    grouped = dense_layer(kv_heads=2**power, **shapes)
    full = dense_layer(kv_heads=64, **shapes)
    assert grouped.attention_flops(context) == full.attention_flops(context)
    assert full.row == grouped.row * 64 // 2**power
    assert attention_intensity(64, 2**power) == 64 / 2**power


@given(st.integers(1, 64), st.integers(1, 400))
def test_experts_in_use_lie_between_one_token_and_all(used: int, tokens: int):
    experts = ExpertWork(count=64, used=used, weights=1)
    assert used <= experts.touched(tokens) * (1 + 1e-12)
    assert experts.touched(tokens) <= 64
    assert experts.touched(1) == pytest.approx(used)


REFUSED = {
    "no tokens": lambda: prefill_step(LLAMA_3_8B, 0),
    "no batch": lambda: decode_step(LLAMA_3_8B, 0, 5),
    "too many logits": lambda: LLAMA_3_8B.prefill_flops(3, logits=4),
    "odd width": lambda: classic(100),
    "nothing to measure": lambda: Plan(nbytes=10),
    "unknown rate": lambda: H100.peak("int4"),
    "no bandwidth": lambda: Chip(
        name="x", flops_per_s={"bfloat16": 1.0}, bytes_per_s=0.0, nbytes=None, source=""
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_questions_are_refused(case: str):
    with pytest.raises(BadInput, match=r"\d"):
        REFUSED[case]()
