"""Other engines get our very weights, take turns in their own process, and may be missing."""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import psutil
import pytest
import torch

from model.engine.build import random_checkpoint, tensor_shapes
from model.engine.config import EngineConfig
from model.engine.elsewhere import serve, to_ctranslate2, to_gguf, worker
from model.engine.elsewhere.turn import Turn
from model.engine.elsewhere.worker import PACKAGES, Worker, installed
from model.engine.opponents import transformers_model
from model.engine.session import Forgetful
from model.engine.weights_gguf import dequantise, hf_name, in_halves, open_gguf
from model.errors import BadInput
from tests.oracles.engine import CPU, in_engine

CONFIG = EngineConfig(
    n_layers=2, n_heads=4, n_kv_heads=2, d_head=16, d_model=64, d_ff=96, vocab_size=97, context=64,
    tied=False,
)  # fmt: skip
CHECKPOINT = random_checkpoint(CONFIG, 4, device=CPU, dtype=torch.float32)
PROMPT = torch.randint(0, 97, (1, 20), generator=torch.Generator().manual_seed(3)).tolist()
IDLE_S = 1.0


class FakeWorker(Worker):
    module = "tests.oracles.fake_engine"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SETTLE_S", 0)


def test_a_worker_answers_turn_after_turn_and_ends_with_its_block():
    with closing(FakeWorker(engine="fake", batch=1)) as fake:
        for n_turns in (1, 2):
            turn = fake.turn([[4, 5], [1, 1]], 2)
            assert turn == Turn(prefill_s=2, step_s=n_turns, step_cpu_s=0.5, tokens=[9, 10, 11])
        process = fake.process
    assert process.returncode == 0


def test_a_worker_uses_no_processor_between_its_turns():
    with closing(FakeWorker(engine="fake", batch=1)) as fake:
        fake.turn([[1]], 1)
        process = psutil.Process(fake.process.pid)
        before = sum(process.cpu_times()[:2])
        time.sleep(IDLE_S)
        assert sum(process.cpu_times()[:2]) - before <= 0.1 * IDLE_S


def test_what_an_engine_refuses_is_one_line_and_its_process_ends():
    with pytest.raises(
        BadInput, match="fake cannot be measured: ValueError: a fake takes at most 2"
    ):
        FakeWorker(engine="fake", batch=3)


def test_an_engine_that_dies_in_a_turn_is_bad_input():
    with closing(FakeWorker(engine="fake", batch=1)) as fake:
        with pytest.raises(BadInput, match="ZeroDivisionError"):
            fake.turn([[1]], 0)
        with pytest.raises(BadInput, match="its process ended with status 0"):
            fake.turn([[1]], 1)


def test_the_process_of_another_engine_never_loads_pytorch():
    code = (
        "import sys, model.engine.elsewhere.serve, model.engine.elsewhere.of_llama_cpp, "
        "model.engine.elsewhere.of_ctranslate2; print('torch' in sys.modules)"
    )
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize("engine", PACKAGES)
def test_an_engine_that_is_not_installed_says_so(engine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, PACKAGES[engine], None)
    said = list[str]()
    settings = {"engine": engine, "batch": 1, "dtype": "float32", "path": "", "threads": 1}
    serve.main(iter([json.dumps(settings)]), said.append)
    assert PACKAGES[engine] in json.loads(said[0])["error"]


@pytest.mark.parametrize("dtype", to_gguf.TYPES)
def test_a_gguf_written_for_llama_cpp_holds_our_weights(dtype: str, tmp_path: Path):
    path = tmp_path / "weights.gguf"
    to_gguf.write(CHECKPOINT, dtype, path)
    written = {hf_name(tensor.name): tensor for tensor in open_gguf(path).tensors}
    assert written.keys() == tensor_shapes(CONFIG).keys()
    for name, tensor in written.items():
        ours = CHECKPOINT.read(name)
        back = in_halves(dequantise(tensor, path), name, CONFIG, {"general.architecture": "llama"})
        narrow = ours if ours.ndim == 1 else ours.to(getattr(torch, dtype)).float()
        assert torch.equal(back, narrow), name


def test_a_gguf_for_llama_cpp_says_the_sizes(tmp_path: Path):
    path = tmp_path / "weights.gguf"
    to_gguf.write(CHECKPOINT, "float32", path)
    fields = gguf.GGUFReader(path).fields
    said: dict[str, Any] = {name: field.contents() for name, field in fields.items()}
    assert said["llama.attention.head_count_kv"] == CONFIG.n_kv_heads
    assert said["llama.rope.freq_base"] == CONFIG.rope_base
    assert said["llama.vocab_size"] == CONFIG.vocab_size


@pytest.mark.parametrize("changed", [{"qk_norm": True}, {"rope_divisors": (1.0,) * 8}], ids=str)
def test_a_model_llama_cpp_cannot_be_given_is_refused(changed: dict[str, Any], tmp_path: Path):
    config = EngineConfig(**{**vars(CONFIG), **changed})
    checkpoint = random_checkpoint(config, 4, device=CPU, dtype=torch.float32)
    with pytest.raises(BadInput, match="no plain Llama"):
        to_gguf.write(checkpoint, "float32", tmp_path / "weights.gguf")


def expected(n_new: int) -> list[int]:
    """The greedy tokens of our engine without a cache."""
    model, text = in_engine(CHECKPOINT), PROMPT[0].copy()
    for _ in range(n_new):
        rows = Forgetful(model).feed(torch.tensor([text]))
        text.append(int(model.logits(rows[:, -1]).argmax()))
    return text[len(PROMPT[0]) :]


@pytest.mark.skipif(not installed("llama.cpp"), reason="llama-cpp-python is not installed")
def test_llama_cpp_writes_our_tokens_from_our_weights(tmp_path: Path):
    to_gguf.write(CHECKPOINT, "float32", tmp_path / "weights.gguf")
    settings = {"path": str(tmp_path / "weights.gguf"), "dtype": "float32", "threads": 1}
    with closing(Worker(engine="llama.cpp", capacity=40, batch=1, **settings)) as llama:
        assert [llama.turn(PROMPT, 11).tokens for _ in range(2)] == [expected(12)] * 2


@pytest.mark.skipif(not installed("ctranslate2"), reason="ctranslate2 is not installed")
def test_ctranslate2_writes_our_tokens_from_our_weights(tmp_path: Path):
    theirs = transformers_model(CHECKPOINT, torch.float32, CPU)
    to_ctranslate2.write(theirs, "float32", tmp_path / "folder")
    settings = {"path": str(tmp_path / "folder"), "dtype": "float32", "threads": 1}
    with closing(Worker(engine="ctranslate2", capacity=40, batch=2, **settings)) as engine:
        assert engine.turn(PROMPT * 2, 11).tokens == expected(12)


@pytest.mark.skipif(not installed("ctranslate2"), reason="ctranslate2 is not installed")
def test_a_model_ctranslate2_cannot_convert_is_bad_input(tmp_path: Path):
    theirs = transformers_model(CHECKPOINT, torch.float32, CPU)
    with pytest.raises(BadInput, match="CTranslate2 cannot take this model"):
        to_ctranslate2.write(theirs, "int3", tmp_path / "folder")
