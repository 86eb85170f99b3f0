"""The work of every known model: the weights and caches that sizing counts, and nothing else."""

from dataclasses import replace

import pytest

from model.costs import (
    cache_bytes,
    decode_step,
    prefill_step,
)
from model.hardware import CHIPS
from model.sizing.catalogue import entries, model_of
from model.sizing.question import Question
from model.sizing.size import total_bytes
from model.work import (
    ModelWork,
)
from model.work_of import work_of

H100 = CHIPS["h100"]
LLAMA_3_8B = work_of("Llama 3 8B")

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
