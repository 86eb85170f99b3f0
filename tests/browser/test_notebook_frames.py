"""Several figures in one notebook page: each draws, and none disturbs another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figures import Append, TokenPasses, WorkGrid
from model.toy.record import record

pytestmark = pytest.mark.browser


def test_figures_side_by_side_draw_and_stay_apart(tmp_path: Path, read: Callable[..., Any]):
    trace, other = record("The black cat sees a white bird."), record("I love you")
    made = (
        Append(trace, t=3),
        Append(other, t=1, head=1),
        WorkGrid(trace, t=5),
        TokenPasses(trace),
    )
    folder = tmp_path / "notebook.html"
    folder.write_text(
        "<!DOCTYPE html><title>notebook</title>" + "".join(one._repr_html_() for one in made)
    )
    one = read(offline=True)
    page = one.page
    page.goto(folder.as_uri())
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(1500)
    frames = page.frames[1:]
    assert len(frames) == len(made)
    for frame in frames:
        frame.wait_for_selector(".stage-status:not(:empty)")
    assert frames[0].evaluate("kv.stage.params") == {"t": 3, "layer": 0, "head": 0}
    assert frames[1].evaluate("kv.stage.params") == {"t": 1, "layer": 0, "head": 1}
    assert frames[0].locator(".cell.key.now").count() == 4
    assert frames[3].locator(".chart canvas, .chart .bk-Figure").count() > 0
    frames[1].locator("button[aria-label='One word on']").click()
    assert frames[1].evaluate("kv.stage.params.t") == 2
    assert frames[0].evaluate("kv.stage.params.t") == 3
    heights = [frame.frame_element().bounding_box()["height"] for frame in frames]
    assert min(heights) > 150
