"""Whatever is wrong with a model, command and page say it in one line and live on."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from app import real_model
from app.__main__ import main
from app.jobs import Job, Jobs
from app.real_model import Writing
from model.engine import devices
from tests.oracles.engine import oracle, saved


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that writes: weights, config, tokenizer."""
    path = tmp_path_factory.mktemp("tiny")
    saved(oracle("gqa-untied").float(), path)
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    words.save(str(path / "tokenizer.json"))
    return path


def corrupt_gguf(_folder: Path, tmp: Path) -> Path:
    (tmp / "model.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(range(256)))
    return tmp / "model.gguf"


def foreign_file(_folder: Path, tmp: Path) -> Path:
    (tmp / "model.gguf").write_text("dear reader, this is a letter", encoding="utf-8")
    return tmp / "model.gguf"


def cut_safetensors(folder: Path, tmp: Path) -> Path:
    copy = Path(shutil.copytree(folder, tmp / "cut"))
    file = next(copy.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-100])
    return copy


def no_tokenizer(folder: Path, tmp: Path) -> Path:
    copy = Path(shutil.copytree(folder, tmp / "mute"))
    (copy / "tokenizer.json").unlink()
    return copy


BROKEN: dict[str, Callable[[Path, Path], Path]] = {
    "corrupt-gguf": corrupt_gguf,
    "foreign-file": foreign_file,
    "cut-safetensors": cut_safetensors,
    "no-tokenizer": no_tokenizer,
}
broken = pytest.mark.parametrize("breaking", BROKEN.values(), ids=BROKEN)


def said_by_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def said_by_page(jobs: Jobs) -> str:
    job = jobs.start("a", Writing({"prompt": "a b a", "max_tokens": 2}))
    end = time.monotonic() + 60
    while not job.over:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert job.state == "failed"
    message = jobs.look(job.name)["message"]
    assert "\n" not in message
    return message


def alive(jobs: Jobs) -> bool:
    """Say whether the next reader's run is done."""
    job: Job = jobs.start("b", lambda job: job.told.update(text="fine"))
    end = time.monotonic() + 10
    while not job.over and time.monotonic() < end:
        time.sleep(0.01)
    return job.state == "done"


@broken
def test_a_broken_model_is_one_line_of_the_command(
    breaking: Callable[[Path, Path], Path],
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    path = breaking(folder, tmp_path)
    for words in (["generate", "a b", "--model", str(path)],
                  ["bench", "--quality", "--model", str(path)]):  # fmt: skip
        assert path.name in said_by_command(words, capsys)


@broken
def test_a_broken_model_is_one_line_of_the_page_and_the_queue_lives_on(
    breaking: Callable[[Path, Path], Path],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    path = breaking(folder, tmp_path)
    monkeypatch.setattr(real_model, "SOURCE", str(path))
    jobs = Jobs()
    assert path.name in said_by_page(jobs)
    assert alive(jobs)


def test_too_much_text_is_one_line_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ["generate", "a b", "--model", str(folder), "--max-tokens", "600"]
    assert "context of 512" in said_by_command(words, capsys)


def test_too_much_text_is_one_line_of_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_model, "SOURCE", str(folder))
    jobs = Jobs()
    job = jobs.start("a", Writing({"prompt": "a b " * 300, "max_tokens": 2}))
    while not job.over:
        time.sleep(0.01)
    assert "context of 512" in jobs.look(job.name)["message"]
    assert alive(jobs)


def test_too_little_memory_is_one_line_of_command_and_page(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))  # not loaded yet
    monkeypatch.setattr(devices, "free_bytes", lambda _device: 1000)
    monkeypatch.setattr(real_model, "SOURCE", str(copy))
    assert "out of memory" in said_by_command(["generate", "a", "--model", str(copy)], capsys)
    assert "out of memory" in said_by_command(["bench", "--random", "tiny"], capsys)
    jobs = Jobs()
    assert "out of memory" in said_by_page(jobs)
    assert alive(jobs)
