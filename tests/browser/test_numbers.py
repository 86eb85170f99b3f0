"""Every number drawn is the trace's number at the digits shown, read back from a real browser."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

from app.lessons import load_lessons
from app.runs import DEFAULT_SENTENCE
from figures.beams import searched
from figures.paging import recorded
from figures.recording import live
from model.toy.compare import compare
from model.toy.comparisons import Comparisons
from model.toy.record import record
from model.toy.trace import Run, Trace

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0].path
SENTENCES = (
    DEFAULT_SENTENCE,
    "x",
    "We don't like pineapple pizza 🍕 and שלום, do we? No, never!",
)
PERCENT = "\N{NARROW NO-BREAK SPACE}%"
HEADS = tuple((layer, head) for layer in range(2) for head in range(2))
Numbers = Mapping[str, float]


@cache
def wrong_twins(text: str) -> Comparisons:
    return compare(record(text))


def as_shown(value: float, text: str) -> str:
    """Write a number the way the page does, to as many decimals as this text has."""
    percent = text.endswith(PERCENT)
    exact = Decimal(float(value)) * (100 if percent else 1)
    digits = len(text.removesuffix(PERCENT).partition(".")[2])
    rounded = abs(exact).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    sign = "−" if exact < 0 and rounded != 0 else ""
    return f"{sign}{rounded}{PERCENT if percent else ''}"


def rows(name: str, array: np.ndarray) -> Numbers:
    """Name each number of a block of rows as the page's cells are named."""
    return {f"{name}.{i}.{j}": x for i, row in enumerate(array) for j, x in enumerate(row)}


def line(name: str, array: np.ndarray) -> Numbers:
    return {f"{name}.{j}": x for j, x in enumerate(array)}


def append(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    kept = trace.cached.steps[p["t"]].layers[p["layer"]].attention
    return {**rows("k", kept.k[p["head"]]), **rows("v", kept.v[p["head"]])}


def attention(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    one, head = trace.cached.steps[p["t"]].layers[p["layer"]].attention, p["head"]
    return {
        **rows("k", one.k[head]),
        **rows("v", one.v[head]),
        **line("q.q", one.q[head, 0]),
        **line("out.o", one.heads[head, 0]),
        **{f"s{j}": x for j, x in enumerate(one.scores[head, 0])},
        **{f"w{j}": x for j, x in enumerate(one.weights[head, 0])},
    }


def one_step(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    run = wrong_twins(trace.reading.text).first_place if p["zero"] else trace.cached
    step, head = run.steps[p["t"]], p["head"]
    one = step.layers[p["layer"]].attention
    place = trace.cached.steps[0 if p["zero"] else p["t"]].embedded.position[0]
    inner = line("inner.i", step.layers[0].norm3[-1]) if p["layer"] else {}
    return {
        **line("in.e", trace.cached.steps[p["t"]].embedded.embedding[0]),
        **line("pos.p", place),
        **line("sum.x", step.embedded.x[-1]),
        **inner,
        **{k: v for kind in "qkv" for k, v in _newest(one, kind, head).items()},
    }


def _newest(one: Any, kind: str, head: int) -> Numbers:
    return line(f"{kind}.{kind}", getattr(one, kind)[head, -1])


def cross_store(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    kept = trace.cached.cross[p["layer"]]
    return {**rows("k", kept.k[p["head"]]), **rows("v", kept.v[p["head"]])}


def proof(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    runs: tuple[Run, Run] = (trace.cached, trace.naive)
    return {
        f"p{i}.{t}": run.steps[t].probability
        for i, run in enumerate(runs, 1)
        for t in range(p["t"] + 1)
    }


def rows_move(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    run = wrong_twins(trace.reading.text).bidirectional if p["bidirectional"] else trace.naive
    n = len(trace.words)
    t = max(0, min(p["t"], n - 2))
    pair = [run.steps[i].layers[p["layer"]].attention.k[p["head"]] for i in (t, min(t + 1, n - 1))]
    return {**rows("a", pair[0]), **rows("b", pair[1])}


def prefill(trace: Trace, p: Mapping[str, Any]) -> Numbers:
    kept = trace.cached.steps[-1].layers[p["layer"]].attention
    return {**rows("k", kept.k[p["head"]]), **rows("v", kept.v[p["head"]])}


DRAWN: dict[str, tuple[Callable[[Trace, Mapping[str, Any]], Numbers], dict[str, tuple[Any, ...]]]]
DRAWN = {
    "append": (append, {}),
    "attention": (attention, {}),
    "one-step": (one_step, {"zero": (False, True)}),
    "cross-store": (cross_store, {}),
    "rows-move": (rows_move, {"bidirectional": (False, True)}),
    "proof": (proof, {"arithmetic": ("fixed",)}),
    "prefill": (prefill, {"split": (0, 1, 2)}),
}


def states(n_steps: int, more: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Every step, layer, head, and every value of the figure's own params."""
    own = [(name, value) for name, values in more.items() for value in values] or [("", None)]
    for name, value in own:
        for t in range(n_steps):
            for layer, head in HEADS:
                yield {"t": t, "layer": layer, "head": head, **({name: value} if name else {})}


def checked(seen: Mapping[str, Any], expected: Numbers, where: str) -> int:
    """Compare one state's cells; every number expected is drawn, every one drawn expected."""
    written = {key: cell["text"] for key, cell in seen["cells"].items() if cell["text"]}
    numbers = {key: text for key, text in written.items() if re.fullmatch(r"−?\d.*", text)}
    passes = {key for key in numbers if key.startswith("pass")}
    assert numbers.keys() - passes == expected.keys(), where
    for key in expected:
        assert numbers[key] == as_shown(expected[key], numbers[key]), f"{where}: {key}"
    return len(expected)


def arithmetic_holds(tip: list[str]) -> None:
    """a×b + c×d + … = e, as printed, is true to the digits printed."""
    for told in tip:
        terms = re.findall(r"(−?[\d.]+)×(−?[\d.]+)", told)
        total = re.search(r"= (−?[\d.]+)$", told)
        if terms and total:
            made = sum(_number(a) * _number(b) for a, b in terms)
            allowed = 0.0006 * (1 + sum(abs(_number(a)) + abs(_number(b)) for a, b in terms))
            assert abs(made - _number(total[1])) <= allowed, told


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("width", [1280, 360])
def test_every_number_drawn_is_the_trace_s_number(width: int, read: Callable[..., Any]):
    one = read(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page = one.open(LESSON)
    compared = 0
    for text in SENTENCES if width > 1000 else SENTENCES[:1]:
        if text != DEFAULT_SENTENCE:
            one.say(text)
        one.complete()
        trace = record(text)
        for name, (expected, more) in DRAWN.items():
            wanted = list(states(len(trace.words), more))
            for seen in page.evaluate("probe.sweep", [name, wanted]):
                where = f"{text}: {name} {seen['state']}"
                numbers = expected(trace, seen["params"])
                compared += checked(seen, numbers, where)
                for cell in list(seen["cells"].values())[::5]:
                    arithmetic_holds(cell["tip"])
    assert compared > 10_000


@pytest.mark.parametrize("text", [DEFAULT_SENTENCE, "x"])
def test_beams_drawn_are_those_of_the_search(text: str, read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(next(lesson.path for lesson in load_lessons() if "beams" in lesson.figures))
    if text != DEFAULT_SENTENCE:
        one.say(text)
    one.complete()
    for width, told in searched(record(text))["searched"].items():
        steps = told["steps"]
        wanted = [{"width": int(width), "step": t, "penalty": 1} for t in range(len(steps))]
        for step, seen in zip(steps, page.evaluate("probe.sweep", ["beams", wanted]), strict=True):
            cells, t = seen["cells"], seen["params"]["step"]
            for i, beam in enumerate(step["beams"]):
                assert "now" in cells[f"b{t}.{i}"]["state"]
                assert f"Step {t + 1}, beam {i + 1}: “{beam['word']}”" in cells[f"b{t}.{i}"]["tip"]
            move = step["move"]
            shown = step["beams"] if move else told["ranked"]["1"][: int(width)]
            for i, scored in enumerate(shown):
                text_shown = cells[f"v{i}"]["text"]
                assert text_shown == as_shown(scored["scores"]["1"], text_shown)
            blocks = {key: cell["text"] for key, cell in cells.items() if key.startswith("c")}
            tables = move["blocks"] if move else []
            assert blocks == {
                f"c{i}.{j}": f"{b}" for i, row in enumerate(tables) for j, b in enumerate(row)
            }
            if move and width != "1":
                assert f"moves {move['gathered']} row" in seen["said"]


def test_bars_are_as_long_as_their_numbers(read: Callable[..., Any]):
    page = read().open(LESSON)
    trace = record(DEFAULT_SENTENCE)
    last = len(trace.words) - 1
    weights = trace.cached.steps[last].layers[1].attention.weights[0, 0]
    seen = page.evaluate("probe.sweep", ["attention", [{"t": last, "layer": 1, "head": 0}]])[0]
    lengths = np.array([seen["bars"][f"bar{row}"] for row in range(last + 1)])
    scale = lengths.max() / weights.max()
    least = 1  # a pixel, so that a small weight is still seen
    np.testing.assert_allclose(lengths, np.maximum(least, scale * weights), rtol=1e-9)


def test_cells_of_the_work_grid_are_the_positions_counted(read: Callable[..., Any]):
    page = read().open(LESSON)
    trace = record(DEFAULT_SENTENCE)
    n = len(trace.words)
    for cached, run in ((False, trace.naive), (True, trace.cached)):
        wanted = [{"t": t, "cached": cached} for t in range(n)]
        for t, seen in enumerate(page.evaluate("probe.sweep", ["work-grid", wanted])):
            grid = [cell["state"] for key, cell in seen["cells"].items() if key.startswith("c")]
            computed = sum("now" in state or "wasted" in state for state in grid)
            assert computed == sum(step.work.positions for step in run.steps[: t + 1])
            assert str(computed) in seen["said"]


def test_the_largest_differences_said_are_the_ones_measured(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON)
    one.complete()
    trace = record(DEFAULT_SENTENCE)
    wanted = [{"t": "last", "arithmetic": kind} for kind in ("fixed", "blas")]
    fixed, library = page.evaluate("probe.sweep", ["proof", wanted])
    gaps = wrong_twins(DEFAULT_SENTENCE).blas_gap
    for t in range(len(trace.words)):
        assert fixed["labels"][f"g{t}"] == "0.0"
        shown = library["labels"][f"g{t}"]
        exact = float(gaps[t])
        assert shown == "0.0" if exact == 0 else shown.startswith(f"{exact:.1e}".partition("e")[0])
    assert "exactly 0.0" in fixed["said"]


@pytest.mark.parametrize("text", SENTENCES)
def test_numbers_in_the_prose_are_those_of_the_readers_run(text: str, read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON)
    one.say(text)
    shown = page.eval_on_selector_all(
        "main [data-live]", "nodes => nodes.map(node => [node.dataset.live, node.textContent])"
    )
    told = live(record(text))
    assert len(shown) >= 8
    assert all(words == told[name]["text"] for name, words in shown)
    assert page.locator("[data-output]").inner_text() == record(text).sentence


@pytest.mark.parametrize("memory", ["blocks", "reserved"])
def test_every_block_named_under_paging_is_a_cell_with_its_readers(
    memory: str, read: Callable[..., Any]
):
    told = recorded()[memory]
    one = read(reduced_motion="reduce")
    page = one.open(next(lesson.path for lesson in load_lessons() if "paging" in lesson.figures))
    one.complete()
    wanted = [{"memory": memory, "tick": tick} for tick in range(len(told["used"]))]
    for seen in page.evaluate("probe.sweep", ["paging", wanted]):
        tick, labels = seen["params"]["tick"], seen["labels"]
        assert all(seen["cells"][f"b{i}"]["text"] == f"{i}" for i in range(len(told["holders"][0])))
        readers = Counter(block for row in told["rows"][tick] for block in row["blocks"])
        assert {k: v for k, v in labels.items() if re.fullmatch(r"c\d+", k)} == {
            f"c{block}": f"×{n}" for block, n in readers.items()
        }
        served = [label for key, label in labels.items() if re.fullmatch(r"n\d+", key)]
        assert len(set(served)) == len(served)
        assert "finishes" not in seen["said"]
