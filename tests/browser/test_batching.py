"""What the batching figure says of memory is what the costs give, for the whole catalogue."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from figures.serving_costs import BATCHES, CONTEXTS, MODELS
from model.costs import bound, decode_step, sequences_that_fit
from model.hardware import CHIPS
from model.work_of import work_of

pytestmark = pytest.mark.browser
LESSON = "/lesson/going-deeper"
CHIP, CONTEXT = "h100", 3
DRAWN = """([name, states]) => states.map((state) => {
  const { stage } = kv.page
  stage.show(name, state, kv.run)
  stage.more.open = true
  stage.fillMore()
  const ctx = { run: stage.run, p: stage.params, w: 640, kit: kv.kit, spec: stage.spec }
  const rows = [...stage.table.querySelectorAll("tbody tr")]
  const cells = rows.map((row) => row.cells[5]?.textContent)
  const note = stage.figure.note(ctx)
  return { note, said: stage.status.textContent, columns: stage.figure.columns(ctx), cells }
})"""


def test_the_figure_says_and_draws_how_many_sequences_fit(read: Callable[..., Any]):
    page = read().open(LESSON)
    states = [{"chip": CHIP, "model": i, "context": CONTEXT} for i in range(len(MODELS))]
    chip = CHIPS[CHIP]
    for name, seen in zip(MODELS, page.evaluate(DRAWN, ["batching", states]), strict=True):
        work = work_of(name)
        most = sequences_that_fit(work, CONTEXTS[CONTEXT], chip.nbytes or 0.0)
        fitting = [n for n in BATCHES if n <= most]
        drawn = seen["columns"]
        assert drawn["step"]["x"] == fitting
        assert drawn["step-over"]["x"][1 if fitting else 0 :] == list(BATCHES[len(fitting) :])
        seconds = [bound(decode_step(work, n, CONTEXTS[CONTEXT]), chip).seconds for n in fitting]
        assert drawn["step"]["y"] == pytest.approx([1e3 * s for s in seconds], rel=1e-6)
        assert drawn["full"]["x"] == ([most] * 2 if 1 <= most < BATCHES[-1] else [])
        low, high = drawn["frame"]["y"]
        assert high == pytest.approx(10 * low)
        curves = ("step", "step-over", "short", "short-over")
        assert low == min(y for curve in curves for y in drawn[curve]["y"])
        assert seen["cells"] == ["fits" if n <= most else "does not fit" for n in BATCHES]
        ends = r"(No batch fits)|(All 256) fit|(\d+) sequences? fills? the chip's 80 GB"
        found = re.search(ends, seen["said"])
        assert found, seen["said"]
        expected = "No batch fits" if not most else "All 256" if most >= BATCHES[-1] else str(most)
        assert expected in found.groups(), seen["said"]


def test_the_roofline_tells_of_a_batch_without_room(read: Callable[..., Any]):
    page = read().open(LESSON)
    asked = [
        {"chip": CHIP, "model": i, "batch": b, "context": CONTEXT}
        for i in range(len(MODELS))
        for b in (0, 5, 8)
    ]
    for state, seen in zip(asked, page.evaluate(DRAWN, ["roofline", asked]), strict=True):
        work = work_of(MODELS[state["model"]])
        most = sequences_that_fit(work, CONTEXTS[CONTEXT], CHIPS[CHIP].nbytes or 0.0)
        told = re.search(r"not fit into its 80 GB; (none|\d+) would", seen["note"])
        assert bool(told) == (BATCHES[state["batch"]] > most), seen["note"]
        assert told is None or told[1] == (str(most) if most else "none")
