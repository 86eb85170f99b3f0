"""A figure keeps its room: no chart lies over controls, no open table makes it small."""

from collections.abc import Callable
from typing import Any

import pytest

from app.lessons import Lesson, load_lessons

pytestmark = pytest.mark.browser

LESSONS = load_lessons()
LEAST_CHART_PX = 200


@pytest.mark.parametrize("size", [(1280, 720), (1280, 800)], ids=["720", "800"])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_a_chart_stays_clear_of_its_controls(
    lesson: Lesson, size: tuple[int, int], read: Callable[..., Any]
):
    one = read(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page = one.open(lesson.path, live=False)
    for step in one.chart_steps(lesson.steps):
        one.settle()
        chart = page.locator(".scrolly .chart:not(.ahead) > *").bounding_box()
        below = page.locator(".scrolly .stage-controls").bounding_box()
        assert chart["y"] + chart["height"] <= below["y"] + 1, step.id
        assert chart["height"] > LEAST_CHART_PX, step.id


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["desktop", "phone"])
def test_the_open_table_leaves_the_figure_its_size_until_the_next_step(
    size: tuple[int, int], read: Callable[..., Any]
):
    one = read(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page = one.open(LESSONS[0].path)
    one.to_step(8)
    before = page.locator(".scrolly svg.figure-svg").bounding_box()
    page.locator(".scrolly .stage-more summary").click()
    one.settle()
    one.settle()
    after = page.locator(".scrolly svg.figure-svg").bounding_box()
    assert after["width"] >= before["width"] - 1
    assert after["height"] >= before["height"] - 1
    assert page.locator(".scrolly .stage-table td").first.is_visible()
    assert page.locator(".scrolly .stage-canvas").bounding_box()["height"] > LEAST_CHART_PX / 2
    one.to_step(9)
    assert not page.locator(".scrolly .stage-more").evaluate("node => node.open")
