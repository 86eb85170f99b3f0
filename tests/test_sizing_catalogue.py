"""The catalogue finds what a reader means, and the commands print what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from model.errors import BadInput
from model.sizing import catalogue
from model.sizing.question import ENGINES, Question
from model.sizing.read_config import read_config
from model.sizing.size import size

KEYS = {
    "model", "tokens", "batch", "bytes_per_token_first", "bytes_per_token_marginal",
    "fixed_bytes", "cache_bytes", "weight_bytes", "parameters", "layers", "assumed", "warnings",
}  # fmt: skip
SPELT = {
    "llama-2-7b": "Llama 2 7B",
    "Llama 2 7B": "Llama 2 7B",
    "LLAMA2-7B": "Llama 2 7B",
    "meta-llama/Llama-2-7b-hf": "Llama 2 7B",
    "meta-llama/Llama-2-7b-chat-hf": "Llama 2 7B",
    "deepseek-v3": "DeepSeek-V3 / R1 (671B)",
    "deepseek-ai/DeepSeek-R1": "DeepSeek-V3 / R1 (671B)",
    "gemma-3-27b-it": "Gemma 3 27B",
    "google/gemma-3-27b-it": "Gemma 3 27B",
    "qwen2.5-7b-instruct": "Qwen2.5-7B",
    "glm 4.5": "GLM-4.5 (355B)",
    "jamba": "Jamba v0.1 (52B)",
    "kimi-linear": "Kimi-Linear-48B-A3B",
    "gpt2": "GPT-2 small (124M)",
    "mixtral 8x7b": "Mixtral 8x7B",
    "whisper large v3": "Whisper large-v3",
    "command-r-plus": "Command R+ (104B)",
    "command r+": "Command R+ (104B)",
}


def spoken(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", SPELT)
def test_a_model_is_found_however_spelt(name: str):
    assert catalogue.find(name).name == SPELT[name]


def test_every_spelling_of_an_entry_finds_it():
    for entry in catalogue.entries():
        assert catalogue.find(entry.name) is entry
        for alias in entry.aliases:
            assert catalogue.find(alias) is entry, alias


def test_every_entry_says_where_it_is_from_and_can_be_read():
    for entry in catalogue.entries():
        assert entry.source
        assert entry.certainty
        assert read_config(entry.config).layers


def test_kimi_linear_is_the_released_one():
    """Its config: full_attn_layers 4, 8, ... 24, 27; its index: 49,122,681,728 numbers."""
    model = catalogue.load("kimi-linear")
    assert [layer.index + 1 for layer in model.layers if layer.rows] == [4, 8, 12, 16, 20, 24, 27]
    assert size(model, Question(tokens=1)).bytes_per_token_first == 7 * 576 * 2 == 8_064
    biases = 26 * 256  # the experts' balance, in no gradient and so in no count of weights
    assert model.parameters == 49_122_681_728 - biases


def test_a_miss_suggests_the_nearest():
    with pytest.raises(BadInput, match="Llama 3"):
        catalogue.find("llama-3-9b")
    with pytest.raises(BadInput, match=r"Phi-3-mini-128k, Phi-3-mini-4k"):
        catalogue.find("phi-3-mini")


@pytest.mark.parametrize("name", ["", "?", "x" * 10_000, "../../etc", "\x00", "🦙"])
def test_rubbish_names_are_refused_in_one_line(name: str):
    with pytest.raises(BadInput) as refusal:
        catalogue.find(name)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_size_prints_json_alone(capsys: pytest.CaptureFixture[str]):
    found = json.loads(spoken(["size", "llama-2-7b", "--tokens", "4096", "--json"], capsys))
    assert set(found) >= KEYS
    assert found["cache_bytes"] == 2**31
    assert found["bytes_per_token_first"] == found["bytes_per_token_marginal"] == 524_288
    assert found["weight_bytes"] == 13_476_831_232
    assert found["assumed"] == found["warnings"] == []
    assert len(found["layers"]) == 32


def test_size_shows_its_arithmetic(capsys: pytest.CaptureFixture[str]):
    text = spoken(["size", "Gemma 3 27B", "--tokens", "131,072", "--memory", "80GiB"], capsys)
    for shown in (
        "52 sliding layers",
        "10.406 GiB",
        "11.174 GB",
        "llama.cpp",
        "beside the weights",
    ):
        assert shown in text


def test_size_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(catalogue.find("gpt-oss-20b").config))
    words = ["size", "--config", str(path), "--tokens", "1", "--json"]
    assert json.loads(spoken(words, capsys))["bytes_per_token_first"] == 49_152


def test_size_takes_what_an_encoder_reads(capsys: pytest.CaptureFixture[str]):
    words = ["size", "whisper-large-v3", "--tokens", "448", "--json"]
    assert json.loads(spoken(words, capsys))["cache_bytes"] == 319_160_320
    fewer = json.loads(spoken([*words, "--encoder-tokens", "10"], capsys))
    assert fewer["fixed_bytes"] == 32 * 2 * 1280 * 2 * 10


@pytest.mark.parametrize("engine", ["ideal", "vllm"])
def test_what_an_engine_lacks_is_a_line_and_no_refusal(
    engine: str, capsys: pytest.CaptureFixture[str]
):
    words = ["size", "DeepSeek-V3.2", "--format", "fp8_ds_mla", "--engine", engine]
    found = json.loads(spoken([*words, "--json"], capsys))
    assert set(found["views"]) == {"ideal", "vllm"}
    assert set(found["views"]) | set(found["not_in_engine"]) == set(ENGINES)
    text = spoken(words, capsys)
    assert text.count("not in this engine") == 3
    assert "source:" in text


REFUSED = {
    "no model": ["size"],
    "both": ["size", "gpt2", "--config", "x"],
    "unknown": ["size", "no-such-model"],
    "no file": ["size", "--config", "/nonexistent/config.json"],
    "a directory without a config": ["size", "--config", "tests"],
    "tokens in words": ["size", "gpt2", "--tokens", "many"],
    "tokens below zero": ["size", "gpt2", "--tokens", "-4"],
    "128k": ["size", "gpt2", "--tokens", "128k"],
    "a format nobody has": ["size", "gpt2", "--k-format", "int3"],
    "a block that does not divide": ["size", "opt-13b", "--v-format", "nvfp4", "--k-format", "q4x"],
    "a format the engine lacks": ["size", "gpt2", "--format", "fp8", "--engine", "llama.cpp"],
    "pages not known": ["size", "deepseek-v4.1-flash", "--engine", "vllm", "--format", "bf16"],
    "an engine nobody has": ["size", "gpt2", "--engine", "mine"],
    "a memory of two meanings": ["size", "gpt2", "--memory", "24G"],
    "an option nobody has": ["size", "gpt2", "--frobnicate"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_line_and_status_2(name: str, capsys: pytest.CaptureFixture[str]):
    assert main(REFUSED[name]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kvscroll: ")
    assert said.err.count("\n") == 1


def test_models_lists_the_catalogue(capsys: pytest.CaptureFixture[str]):
    rows = json.loads(spoken(["models", "--json"], capsys))["models"]
    assert [row["name"] for row in rows] == [entry.name for entry in catalogue.entries()]
    assert all(row["source"] for row in rows)
    table = spoken(["models", "gemma", "3"], capsys)
    assert "Gemma 3 27B" in table
    assert "Llama" not in table


def test_the_calculator_needs_neither_torch_nor_transformers():
    script = (
        "import sys; from app.__main__ import main; main(['size', 'gpt2', '--json']); "
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'panel', 'numpy')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-500:]
