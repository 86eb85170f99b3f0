"""Reading a lesson: every step has ink, and always exactly one of them is being read."""

import base64
import io
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.lessons import Lesson, load_lessons

pytestmark = pytest.mark.browser

LESSONS = load_lessons()
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
SIZES = {360: 740, 768: 1024, 1280: 900}
THEMES = ("light", "dark")
LEAST_INK = 400  # pixels that are not paper; the emptiest true figure has over 2,000


def ink(one: Any, camera: Any) -> int:
    """How many pixels of the figure are not paper."""
    paper, clip = one.page.evaluate("probe.clip()")
    shot = {"format": "png", "optimizeForSpeed": True, "clip": clip}
    data = base64.b64decode(camera.send("Page.captureScreenshot", shot)["data"])
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int16)
    colour = [int(value) for value in re.findall(r"\d+", paper)[:3]]
    return int((np.abs(picture - colour).max(axis=-1) > 24).sum())


@every_lesson
def test_every_step_has_ink_and_nothing_spills(lesson: Lesson, read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(lesson.path)
    one.complete()
    camera = page.context.new_cdp_session(page)
    for width, height in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for i, step in enumerate(lesson.steps):
            one.to_step(i)
            one.until("probe.drawn()")
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                one.settle()
                assert ink(one, camera) >= LEAST_INK, f"{step.id} at {width} px, {theme}"
            assert page.evaluate("probe.spills()") == [], f"{step.id} at {width} px"
            assert page.locator(".stage-status").inner_text().strip().endswith(".")


@every_lesson
def test_exactly_one_step_is_read_at_any_speed_and_size(lesson: Lesson, read: Callable[..., Any]):
    one = read()
    page = one.open(lesson.path)
    page.evaluate("probe.watchSteps()")
    height = page.evaluate("document.documentElement.scrollHeight")

    def scroll(by: int, times: int) -> None:
        for _ in range(times):
            page.mouse.wheel(0, by)
            one.settle()
        found = page.evaluate("probe.nearest()")
        assert found["active"] == found["expected"]

    page.mouse.move(200, 500)
    scroll(40, 30)  # slowly
    order = page.evaluate("probe.seen.order")
    assert all(abs(a - b) == 1 for a, b in pairwise(order))
    scroll(700, height // 700 + 1)  # fast, to the end
    assert page.evaluate("kv.page.steps.active") == len(lesson.steps) - 1
    scroll(-350, 12)  # up
    for width, tall in ((390, 844), (1600, 1000), (768, 500), (1280, 900)):  # resize
        page.set_viewport_size({"width": width, "height": tall})
        one.settle()
        found = page.evaluate("probe.nearest()")
        assert found["active"] == found["expected"]
    for zoom in (0.67, 1.5, 2):
        page.evaluate("z => { document.documentElement.style.zoom = z }", zoom)
        one.settle()
        scroll(300, 3)
    assert page.evaluate("probe.seenCounts()") == [1]


@pytest.mark.parametrize("ratio", [1, 1.25, 3])
def test_a_jump_activates_its_target_alone(ratio: float, read: Callable[..., Any]):
    one = read(device_scale_factor=ratio)
    lesson = LESSONS[0]
    page = one.open(lesson.path)
    page.evaluate("probe.watchSteps()")
    last = len(lesson.steps) - 1
    for target in (last, 0, 5, 2, last - 1, 1):
        before = page.evaluate("kv.page.steps.active")
        page.evaluate("probe.seen.order = [kv.page.steps.active]")
        page.evaluate(f"location.hash = '{lesson.steps[target].id}'")
        one.until("i => kv.page.steps.active === i", target)
        one.settle()
        assert page.evaluate("probe.seen.order") == [before, target]
    assert page.evaluate("probe.seenCounts()") == [1]


def test_a_step_looks_the_same_from_above_and_from_below(read: Callable[..., Any]):
    lesson = LESSONS[0]
    one = read(reduced_motion="reduce")
    page = one.open(lesson.path)
    one.complete()
    drawn: dict[int, set[str]] = {}
    for target in (2, 4, 2, 0, 2, 8, 4, 0):
        one.to_step(target)
        svg = page.evaluate("probe.picture()")
        drawn.setdefault(target, set()).add(svg)
    assert {target: len(looks) for target, looks in drawn.items()} == dict.fromkeys(drawn, 1)


@pytest.mark.parametrize("path", [LESSONS[0].path, "/", "/gallery"])
def test_the_wheel_over_a_figure_scrolls_the_page_as_over_text(path: str, read: Callable[..., Any]):
    one = read()
    page = one.open(path)
    if path == LESSONS[0].path:
        one.to_step(3)  # a Bokeh chart, which would take the wheel if it could
    page.wait_for_timeout(300)
    for box in (".stage-canvas", "main"):
        at = page.locator(box).first.bounding_box()
        y = min(max(at["y"] + 60, 80), 800)
        page.mouse.move(at["x"] + 40, y)
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 200)
        one.until("y => scrollY === y + 200", before)
        page.mouse.wheel(0, -200)
        one.until("y => scrollY === y", before)


@pytest.mark.parametrize("step", [0, 3])
def test_a_finger_on_a_figure_scrolls_the_page_as_on_text(step: int, read: Callable[..., Any]):
    one = read(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = one.open(LESSONS[0].path)
    one.to_step(step)
    page.wait_for_timeout(300)
    wire = page.context.new_cdp_session(page)

    def touch(kind: str, *points: dict[str, float]) -> None:
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    def drag(y: float) -> float:
        before = page.evaluate("scrollY")
        touch("touchStart", {"x": 150, "y": y})
        for moved in range(12, 132, 12):
            touch("touchMove", {"x": 150, "y": y - moved})
            one.settle()
        touch("touchEnd")
        one.settle()
        return page.evaluate("scrollY") - before

    box = page.locator(".stage-canvas").bounding_box()
    over_text, over_figure = drag(700), drag(box["y"] + box["height"] - 10)
    assert over_text > 80
    assert over_figure == pytest.approx(over_text, abs=30)


def test_a_mask_both_ways_moves_layer_2_and_is_told_not_to_move_layer_1(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(f"{load_lessons()[0].path}#nothing-moves")
    one.complete()
    said = "kv.page.stage.status.textContent"
    page.select_option(".stage select[name=layer]", "0")
    page.check(".stage input[name=bidirectional]")
    one.until(f"{said}.includes('no key of layer 1 moves')")
    assert page.locator('[data-key^="moved"]').all_text_contents() == ["0.0"] * 3
    page.locator("#nothing-moves [data-try]").click()
    one.until(f"{said}.includes('moves the keys behind it by up to')")
    assert page.locator('[data-key="moved0"]').text_content() != "0.0"


def test_a_try_past_the_last_step_of_a_short_sentence_says_so(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(f"{load_lessons()[0].path}?s=cat#the-loop")
    one.complete()
    page.locator("#the-loop [data-try]").click()
    told = page.locator("#the-loop .try [role=status]")
    assert told.text_content() == "Your sentence takes 2 steps; this is the last."
    one.say("The cat eats the fish.")
    page.locator("#the-loop [data-try]").click()
    assert told.text_content() == ""


def test_sizes_are_called_what_they_are_in_each_pattern(read: Callable[..., Any]):
    page = read().open(f"{load_lessons()[2].path}#your-own-pattern")
    for pattern, names in (
        ("window-sinks", ["Window", "Sinks"]),
        ("fixed", ["Block", "Summaries"]),
        ("dilated", ["Window", "Gap"]),
    ):
        page.select_option(".stage select[name=pattern]", pattern)
        sizes = [page.locator(f".stage label:has([name={one}]) span") for one in ("size", "second")]
        assert [size.text_content() for size in sizes] == names


def test_hovering_never_scrolls(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSONS[0].path)
    one.to_step(3)
    before = page.evaluate("scrollY")
    box = page.locator(".stage-canvas").bounding_box()
    for x in range(20, int(box["width"]), 60):
        page.mouse.move(box["x"] + x, box["y"] + 150)
    one.settle()
    assert page.evaluate("scrollY") == before
