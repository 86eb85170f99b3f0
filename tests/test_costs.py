"""The formulas count what the running code does, and bound how long a chip must take."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from model.config import DecoderConfig
from model.costs import (
    Formats,
    attention_intensity,
    bound,
    cache_bytes,
    decode_step,
    equal_traffic_batch,
    linear_intensity,
    prefill_step,
    sequences_that_fit,
    throughput_limit,
)
from model.decoder import Decoder
from model.errors import BadInput
from model.hardware import CHIPS, Chip
from model.layer_work import ExpertWork, LayerWork
from model.measure import CancelledError, Plan, measure
from model.sizing.catalogue import entries, model_of
from model.sizing.question import Question
from model.sizing.size import total_bytes
from model.work import (
    ModelWork,
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


every_model = pytest.mark.parametrize("name", [entry.name for entry in entries()])


@every_model
def test_work_reads_the_weights_and_caches_that_sizing_counts(name: str):
    work, model = work_of(name), model_of(name)
    assert work.cache_written() == sum(layer.numbers_per_token for layer in model.layers)
    question = Question(tokens=9_000, k_format="bf16", v_format="bf16", index_format="bf16")
    assert cache_bytes(work, 9_000) == total_bytes(model, question)
    assert model.parameters is not None
    published_to = 1e-4 if "as published" in " ".join(model.warnings) else 0
    assert 0.99 < work.weights_kept / model.parameters <= 1 + published_to  # norms, biases


@every_model
def test_a_models_prefill_is_exactly_the_sum_of_its_decode_steps(name: str):
    work = work_of(name)
    absorbed = replace(
        work, layers=tuple(replace(layer, expanded=None) for layer in work.layers)
    )  # latents are decoded in another form than they are prefilled in: one form for both here
    source = work.encoder.flops if work.encoder else 0
    for n in (1, 2, 31, 200):
        steps = sum(work.decode_flops(t) - 2 * work.head for t in range(1, n + 1))
        assert absorbed.prefill_flops(n, logits=0) - source == steps
    assert work.prefill_flops(200) <= absorbed.prefill_flops(200)


@every_model
def test_a_step_reads_active_weights_and_caches_and_nothing_else(name: str):
    work = work_of(name)
    step = decode_step(work, 1, 3_000)
    assert step.weight_bytes == pytest.approx(2 * work.weights_used, rel=1e-12)
    assert step.cache_bytes == 2 * work.cache_read(3_000) + 2 * work.state_bytes
    assert work.weights_used <= work.weights_kept
    assert work.weights_read(10**6) <= work.weights_kept
    assert decode_step(work, 7, 3_000).cache_bytes == 7 * step.cache_bytes
    assert step.flops >= 2 * (work.weights_used - rows_made_once(work))


def rows_made_once(work: ModelWork) -> int:
    """Weights of a step that are read, and multiplied with only when a row is complete."""
    return sum(part.row_weights for layer in work.layers for part in layer.parts)


@every_model
def test_a_prefill_reads_every_matrix_at_most_once(name: str):
    work = work_of(name)
    step = prefill_step(work, 10**6)
    assert step.weight_bytes <= 2 * (work.weights_kept - work.table)
    kept = cache_bytes(work, 10**6)
    assert step.cache_bytes >= kept, "what is kept was written"


@pytest.mark.parametrize("name", [e.name for e in entries() if work_of(e.name).encoder])
def test_an_encoder_reads_its_source_once_and_before_the_first_word(name: str):
    work = work_of(name)
    encoder = work.encoder
    assert encoder is not None
    first, later = work.prefill_flops(5), work.prefill_flops(4, cached=1)
    one = work.prefill_flops(1)
    assert first - later == one - 2 * work.head
    assert first - encoder.flops < encoder.flops
    twice = work_of(name, 2 * encoder.source)
    assert twice.encoder is not None
    assert twice.encoder.flops > 2 * encoder.flops, "each token sees all of them"
    assert twice.decode_flops(9) > work.decode_flops(9)
    assert twice.cross_written == 2 * work.cross_written
    assert twice.weights_kept == work.weights_kept


def test_a_state_costs_the_same_at_any_length():
    for name in ("Falcon-Mamba-7B", "Mamba 2.8B"):
        work = work_of(name)
        assert work.decode_flops(10) == work.decode_flops(10**6)
        assert decode_step(work, 1, 10) == decode_step(work, 1, 10**6)
        assert work.cache_written() == 0
        assert work.state_bytes > 0


def test_entries_are_read_when_they_are_complete():
    sliding, sparse, heavy = (work_of("DeepSeek-V4-Flash").layers[i] for i in (0, 2, 3))
    assert sliding.cache_read(100_000) == 128 * 512
    assert sparse.cache_read(100_000) == 128 * 512 + 512 * 512 + 25_000 * 128
    assert heavy.cache_read(100_000) == 128 * 512 + 781 * 512
    reader, late = (work_of("DeepSeek-V4.1-Flash").layers[i] for i in (3, 24))
    assert reader.cache_read(100_000) == 128 * 512 + 512 * 512
    assert late.cache_read(100_000) == reader.cache_read(100_000) + 2_048 * 8 * 128


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("Mixtral 8x7B", 12.9),
        ("DeepSeek-V3 / R1 (671B)", 37.5),
        ("gpt-oss-20b", 3.6),
        ("gpt-oss-120b", 5.1),
        ("Llama 4 Scout (109B)", 17),
        ("Qwen3-235B-A22B", 22),
    ],
)
def test_active_weights_are_those_the_makers_state(name: str, billions: float):
    work = work_of(name)
    active = sum(layer.weights_used for layer in work.layers) + work.head
    assert any(  # some makers count the input table, some do not
        count / 1e9 == pytest.approx(billions, rel=0.012) for count in (active, active + work.table)
    )


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("DeepSeek-V4-Flash", 13),
        ("Kimi-Linear-48B-A3B", 3),
        ("Jamba v0.1 (52B)", 12),
        ("Qwen3.6-35B-A3B", 3),
    ],
)
def test_active_weights_round_to_the_makers_name(name: str, billions: int):
    assert round(work_of(name).weights_used / 1e9) == billions


def test_sizes_without_a_class_round_to_the_makers_totals():
    hunyuan, flash = work_of("Hunyuan-Large (389B)"), work_of("DeepSeek-V4.1-Flash")
    palm = work_of("PaLM 540B")
    words = 129_280 * 5_120
    assert round(hunyuan.weights_kept / 1e9) == 389
    assert round((flash.weights_kept - flash.table + words) / 1e9) == 552  # look-ups apart
    assert round(palm.weights_kept / 1e7) == 54_035


def test_mla_decodes_from_latents_and_prefills_from_heads():
    layer = work_of("DeepSeek-V3").layers[-1]
    assert layer.row == 576
    assert layer.score_width + layer.mix_width == 128 * (576 + 512)
    assert layer.expanded is not None
    assert layer.expanded.score_width + layer.expanded.mix_width == 128 * (192 + 128)
    absorbed_intensity = layer.attention_flops(1) / (2 * layer.row)
    assert round(absorbed_intensity) == 242


def test_an_index_looks_at_every_key_and_attention_reads_the_best():
    dense, sparse = work_of("DeepSeek-V3").layers[-1], work_of("DeepSeek-V3.2").layers[-1]
    assert sparse.attention_flops(1) == dense.attention_flops(1)
    assert sparse.keys(100_000) == 2048
    more = sparse.decode_flops(100_001) - sparse.decode_flops(100_000)
    assert more == 2 * 64 * 128  # one key more for each of 64 index heads
    assert sparse.cache_read(100_000) == 2048 * 576 + 100_000 * 128
    borrowing = [layer for layer in work_of("GLM-5.2").layers if not layer.index_row]
    assert borrowing, "some layers take the choice of another"
    assert {(layer.best, layer.index_width) for layer in borrowing} == {(2048, 0)}


@given(st.integers(1, 64), st.integers(1, 400))
def test_experts_in_use_lie_between_one_token_and_all(used: int, tokens: int):
    experts = ExpertWork(count=64, used=used, weights=1)
    assert used <= experts.touched(tokens) * (1 + 1e-12)
    assert experts.touched(tokens) <= 64
    assert experts.touched(1) == pytest.approx(used)


@given(st.integers(1, 200), st.integers(1, 5000))
def test_a_step_takes_longer_with_more_of_anything(batch: int, context: int):
    step = bound(decode_step(LLAMA_3_8B, batch, context), H100)
    wider = bound(decode_step(LLAMA_3_8B, batch + 1, context), H100)
    longer = bound(decode_step(LLAMA_3_8B, batch, context + 1), H100)
    assert step.seconds < wider.seconds
    assert step.seconds < longer.seconds
    smaller = decode_step(LLAMA_3_8B, batch, context, Formats(cache_bytes=1.0))
    assert smaller.cache_bytes * 2 == decode_step(LLAMA_3_8B, batch, context).cache_bytes


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS.keys())
def test_both_limits_meet_at_the_ridge(chip: Chip):
    ridge = chip.ridge()
    assert chip.attainable(ridge) == pytest.approx(chip.peak("bfloat16"))
    assert chip.attainable(ridge / 2) == pytest.approx(chip.peak("bfloat16") / 2)
    assert chip.attainable(ridge * 2) == chip.peak("bfloat16")
    assert chip.source


@pytest.mark.parametrize(
    ("chip", "ridge"),
    [("a100", 153), ("h100", 295), ("h200", 206), ("b200", 281), ("mi300x", 247),
     ("rtx4090", 164), ("tpu-v5e", 240), ("m4-max", 31)],
)  # fmt: skip
def test_ridges_are_those_of_the_data_sheets(chip: str, ridge: int):
    assert round(CHIPS[chip].ridge()) == ridge


def test_peaks_follow_from_clock_and_units():
    assert H100.peak("bfloat16") == pytest.approx(1830e6 * 512 * 2 * 528, rel=1e-3)
    assert CHIPS["a100"].peak("bfloat16") == pytest.approx(1410e6 * 256 * 2 * 432, rel=1e-3)
    assert CHIPS["mi300x"].peak("bfloat16") == pytest.approx(2100e6 * 256 * 2 * 1216, rel=1e-3)


def as_published() -> ModelWork:
    """Llama 3 8B as the worked numbers count it: the input table is read like a matrix."""
    return ModelWork(name="", layers=LLAMA_3_8B.layers, head=LLAMA_3_8B.head + LLAMA_3_8B.table)


@pytest.mark.parametrize(
    ("batch", "context", "ms"),
    [(1, 1, 4.79), (1, 8192, 5.11), (32, 8192, 15.05), (64, 8192, 25.3), (256, 2048, 25.3)],
)
def test_worked_step_times_are_reproduced(batch: int, context: int, ms: float):
    step = bound(decode_step(as_published(), batch, context), H100)
    assert step.seconds * 1e3 == pytest.approx(ms, rel=2e-3)
    assert step.limited_by == "memory"


def test_worked_limits_are_reproduced():
    work = as_published()
    assert bound(decode_step(work, 32, 8192), H100).compute_s * 1e3 == pytest.approx(0.66, abs=5e-3)
    assert throughput_limit(work, 8192, H100) == pytest.approx(3120, rel=1e-3)
    assert round(equal_traffic_batch(work, 8192)) == 15
    assert sequences_that_fit(work, 8192, H100.nbytes or 0) == 59
    assert decode_step(work, 1, 1).intensity == pytest.approx(1, rel=1e-3)
    prefill = bound(prefill_step(work, 2048), H100)
    assert prefill.limited_by == "arithmetic"


def test_a_looked_up_table_is_not_read():
    assert LLAMA_3_8B.weights_kept - LLAMA_3_8B.weights_read(1) == 128_256 * 4096
    assert work_of("SmolLM2-135M").table == 0


def test_decode_is_a_tenth_of_the_flops_and_thirty_times_the_time():
    work = work_of("Llama 2 7B")
    prefill, steps = prefill_step(work, 2048), [decode_step(work, 1, 2048 + i) for i in range(199)]
    blocks = sum(layer.prefill_flops(2048) for layer in work.layers)
    decoded = sum(step.flops - 2 * work.head for step in steps)
    assert blocks / decoded == pytest.approx(9.9, abs=0.05)
    seconds = sum(bound(step, H100).seconds for step in steps)
    assert seconds / bound(prefill, H100).seconds == pytest.approx(30, abs=1.5)


def test_intensity_of_a_matrix_is_the_number_of_tokens_until_activations_weigh_in():
    assert linear_intensity(1, 4096, 4096) == pytest.approx(1, rel=1e-3)
    assert linear_intensity(64, 4096, 4096, activation_bytes=0.0) == 64
    assert linear_intensity(64, 4096, 4096) < 64


def test_measuring_reports_progress_and_finds_positive_rates():
    heard: list[float] = []
    plan = Plan(nbytes=2**20, seconds_each=0.0, matrix=16)
    found = measure(plan, lambda share, _: heard.append(share) or True)
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert found.flops_per_s.keys() == {"float32", "bfloat16"}
    assert all(math.isfinite(rate) and rate > 0 for rate in found.flops_per_s.values())
    assert found.chip.ridge("float32") > 0


@pytest.mark.parametrize("after", [0, 1, 3])
def test_measuring_stops_when_told_to(after: int):
    calls = iter(range(100))
    with pytest.raises(CancelledError):
        measure(Plan(nbytes=2**20, seconds_each=0.0, matrix=16), lambda *_: next(calls) < after)


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
