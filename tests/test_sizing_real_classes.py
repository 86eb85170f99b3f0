"""The calculator equals the tensors that transformers' own classes hold, byte for byte."""

import pytest
import torch

from model.sizing import catalogue
from model.sizing.layers import Model
from model.sizing.question import Question
from model.sizing.read_config import read_config
from model.sizing.size import size
from tests.oracles import real_cache, tiny

TOKENS = 40
NOT_COUNTED = {
    "zamba2": "its adapters are not in the recipe: no weights are claimed",
    "olmo_hybrid": "no weights are claimed",
}
LEFT_OUT = {
    "GPT-3 175B": "no public code: read as a GPT-2, whose class the GPT-2 rows run",
    "PaLM 540B": "no class",
    "Hunyuan-Large (389B)": "its code travels with the weights",
    "DeepSeek-V4.1-Flash": "no class",
    "DeepSeek-V4-Flash": "the class keeps buffers of tokens not yet compressed besides",
    "Gemma 3n E2B": "its class asks tensors for values, which meta tensors have not; tiny runs",
    "Gemma 3n E4B": "as Gemma 3n E2B",
    "BART-large": "as Gemma 3n E2B: the tiny BART runs",
    "BART-base": "as BART-large",
    "Marian opus-mt-en-de": "as BART-large",
    "DeepSeek-V2 (236B)": "its router wants keys the cache does not depend on; the tiny one runs",
    "DeepSeek-V2-Lite (16B)": "as DeepSeek-V2",
}
QUICK = ("SmolLM2-135M", "Qwen3-0.6B", "Gemma 3 1B", "gpt-oss-20b", "GPT-2 small (124M)")


@pytest.mark.parametrize("name", tiny.DECODERS)
def test_small_decoder_holds_what_is_counted(name: str):
    model_type, raw = tiny.DECODERS[name]
    model = read_config({"model_type": model_type, **raw})
    real = real_cache.build(model_type, raw, "cpu")
    held = real_cache.n_bytes(real_cache.decoder_cache(real, TOKENS, "cpu"))
    answer = size(model, Question(tokens=TOKENS, engine="transformers"))
    assert answer.cache_bytes == held
    n_weights = sum(p.numel() for p in real.parameters())
    if name in NOT_COUNTED:
        assert model.parameters is None
    else:
        assert model.parameters == n_weights


@pytest.mark.parametrize("name", tiny.ENCODER_DECODERS)
def test_small_encoder_decoder_holds_what_is_counted(name: str):
    model_type, raw = tiny.ENCODER_DECODERS[name]
    model = read_config({"model_type": model_type, **raw})
    held = real_cache.encoder_decoder_cache(model_type, raw, tokens=7, source=10)
    question = Question(tokens=7, encoder_tokens=10, engine="transformers")
    assert size(model, question).cache_bytes == real_cache.n_bytes(held)


def meta_bytes(name: str, n_tokens: int) -> tuple[int, int]:
    """Cache bytes and weights of a catalogue entry's real class, without memory for either."""
    entry = catalogue.find(name)
    raw = {k: v for k, v in entry.config.items() if k != "quantization_config"}
    model_type = raw.pop("model_type")
    real = real_cache.build(model_type, raw, "meta")
    held = real_cache.n_bytes(real_cache.decoder_cache(real, n_tokens, "meta"))
    return held, sum(p.numel() for p in real.parameters())


def past_windows(model: Model) -> int:
    """Enough tokens to fill the model's windows, where that is not too many."""
    windows = [layer.window for layer in model.layers if layer.window is not None]
    return max([100, *(w + 9 for w in windows if w < 9_000)])


def agrees(name: str) -> None:
    model = catalogue.load(name)
    n_tokens = 12 if any(layer.states for layer in model.layers) else past_windows(model)
    held, n_weights = meta_bytes(name, n_tokens)
    assert size(model, Question(tokens=n_tokens, engine="transformers")).cache_bytes == held
    assert model.parameters == n_weights


@pytest.mark.parametrize("name", QUICK)
def test_full_size_class_holds_what_is_counted(name: str):
    agrees(name)


def decoders() -> list[str]:
    names = [e.name for e in catalogue.entries()]
    encoders = {n for n in names if catalogue.model_of(n).has_encoder}
    return [n for n in names if n not in LEFT_OUT and n not in QUICK and n not in encoders]


@pytest.mark.catalogue
@pytest.mark.parametrize("name", decoders())
def test_every_catalogue_class_holds_what_is_counted(name: str):
    agrees(name)


def test_exceptions_have_reasons_and_are_in_the_catalogue():
    names = {entry.name for entry in catalogue.entries()}
    assert set(LEFT_OUT) <= names
    assert all(LEFT_OUT.values())


def test_the_counter_counts_floating_tensors_once():
    shared = torch.zeros(3, dtype=torch.bfloat16)
    assert real_cache.n_bytes([shared, shared, torch.zeros(1, dtype=torch.int64)]) == 6
