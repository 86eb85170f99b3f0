"""The benchmark runs everybody on the same tokens, counts the bytes read, and says so in JSON."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from app.__main__ import main
from model.engine import devices
from model.engine.bench import Path as Lane
from model.engine.bench import Plan, Replayed, here, our_paths, ratio, take_turns
from model.engine.build import random_checkpoint
from model.engine.config import EngineConfig
from model.engine.elsewhere.turn import Turn
from model.engine.graphed import Graphed
from model.engine.opponents import Transformers, transformers_model
from model.engine.sweep import Grid, OursRead, Reader, TransformersRead, sweep
from model.errors import BadInput
from tests.oracles.engine import CPU, in_engine

CONFIG = EngineConfig(
    n_layers=2, n_heads=4, n_kv_heads=2, d_head=8, d_model=32, d_ff=48, vocab_size=97, context=64,
    tied=False,
)  # fmt: skip
CHECKPOINT = random_checkpoint(CONFIG, 4, device=CPU, dtype=torch.float64)
MODEL = in_engine(CHECKPOINT)
PLAN = Plan(context=20, new_tokens=12, batch=2, repeats=2, n_uncached=12)
PROMPT = torch.randint(0, 97, (2, 20), generator=torch.Generator().manual_seed(3))
KEYS = {"path", "dtype", "prefill_tokens_per_s", "decode_ms_per_token", "share_of_bandwidth"}


def others() -> list[Lane]:
    theirs = transformers_model(CHECKPOINT, torch.float64, CPU)
    decoders = {
        "transformers, DynamicCache": Transformers(theirs),
        "transformers, StaticCache": Transformers(theirs, PLAN.capacity),
        "fixed": Replayed(MODEL, lambda: GRAPHED),
    }
    return [
        Lane(
            name=name,
            dtype="float64",
            runner=here(decoder),
            nbytes_per_step=1,
            steps=PLAN.new_tokens,
        )
        for name, decoder in decoders.items()
    ]


GRAPHED = Graphed(MODEL, PLAN.capacity, batch=PLAN.batch)


def test_every_path_writes_the_same_tokens_in_every_turn():
    paths = [*our_paths(MODEL, PLAN), *others()]
    for _repeat, path in take_turns(paths, PROMPT, PLAN):
        assert path.tokens == paths[0].tokens, path.name
    assert all(len(path.step_s) == PLAN.repeats for path in paths)  # the warm-up is not counted


def test_a_step_reads_every_weight_once_and_the_cache_at_its_mean_length():
    ours, without = our_paths(MODEL, PLAN)
    weights = sum(
        CHECKPOINT.read(name).nbytes for name in CHECKPOINT.names if "embed_tokens" not in name
    )
    assert without.nbytes_per_step == weights
    assert ours.nbytes_per_step - weights == CONFIG.numbers_per_token * 8 * 2 * 26


def timed(name: str, step_s: list[float]) -> Lane:
    turns = [Turn(prefill_s=1, step_s=seconds, step_cpu_s=1, tokens=[1]) for seconds in step_s]
    return Lane(
        name=name,
        dtype="float64",
        runner=lambda *_: turns[0],
        nbytes_per_step=1,
        steps=1,
        turns=turns,
    )


def test_ratios_pair_the_times_of_the_same_repeat():
    mine = timed("ours", [1.0, 10.0, 1.0])
    theirs = [
        timed("transformers, a", [2.0, 30.0, 1.5]),
        timed("transformers, b", [4.0, 20.0, 5.0]),
    ]
    assert ratio([mine, *theirs], "ours", "transformers", "float64") == 2.0
    assert ratio([mine], "ours", "transformers", "float64") is None


def test_the_command_prints_json_alone_with_the_promised_keys(capsys: pytest.CaptureFixture[str]):
    words = "bench --random tiny --context 16 --new-tokens 4 --repeats 1 --dtype float32 --json"
    assert main(words.split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["path"] for row in told["rows"]} >= {"ours", "ours, no cache"}
    assert all(row.keys() >= KEYS for row in told["rows"])
    assert told["ratio_to_transformers"] > 0
    assert told["same_greedy_tokens"] == {"float32": True}


@pytest.mark.parametrize(
    "words",
    [
        "--batch 0",
        "--context 4000 --new-tokens 97",
        "--repeats 0",
        "--threads 0",
        "--sweep --contexts 4090",
        "--sweep --batches 0",
        "--plot speeds.png",
        "--plot nowhere/speeds.html",
    ],
)
def test_what_cannot_be_measured_is_refused(words: str, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--random", "tiny", *words.split()]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_step_of_fixed_shape_stops_at_the_end_of_its_slab():
    session = Graphed(MODEL, 3)
    session.feed(torch.tensor([[1, 2, 3]]))
    with pytest.raises(BadInput, match="1 new after 3 tokens do not fit in 3"):
        session.feed(torch.tensor([[4]]))


def swept(prompt: torch.Tensor, grid: Grid) -> list[dict[str, Any]]:
    theirs = transformers_model(CHECKPOINT, torch.float64, CPU)
    readers: dict[str, Reader] = {"ours": OursRead(MODEL)}
    for kind in ("DynamicCache", "StaticCache"):
        readers[kind] = TransformersRead(theirs, kind)
    return list(sweep(readers, prompt, grid, lambda context, batch: 8 * context * batch))


def test_a_sweep_decodes_the_same_words_in_every_cell_as_one_sequence_would():
    grid = Grid(contexts=(7, 20), batches=(1, 3), burst=2, repeats=2)
    rows = swept(PROMPT[:1], grid)
    assert len(rows) == 2 * 2 * 3
    for context in grid.contexts:
        ours = Replayed(MODEL, lambda: Graphed(MODEL, 40))
        prompt = PROMPT[:1, :context]
        expected = here(ours)(prompt, grid.n_steps).tokens
        found = [row["tokens"] for row in rows if row["context"] == context]
        assert found == [expected] * 6


def test_a_cell_that_does_not_fit_says_so_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(devices, "free_bytes", lambda _device: 4 * 8 * 20 * 2)
    rows = swept(PROMPT[:1], Grid(contexts=(7,), batches=(1, 9), burst=1, repeats=1))
    assert [row["batch"] for row in rows if "path" in row] == [1, 1, 1]
    assert [row["skipped"] for row in rows if "skipped" in row] == [
        "out of memory: caches of 9 x 7 tokens take 0.0 GiB, cpu has 0.0 GiB free"
    ]


@pytest.mark.parametrize("words", ["--context 16 --new-tokens 4", "--sweep --contexts 8 16"])
def test_a_plot_needs_no_network_and_names_every_path(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "speeds.html"
    base = f"bench --random tiny --repeats 1 --dtype float32 --json --plot {file}"
    assert main([*base.split(), *words.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    page = file.read_text(encoding="utf-8")
    assert all(row["path"] in page for row in told["rows"])
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", page)
