"""Small windows: nothing in a figure is too small to read, all of it can be reached."""

from collections.abc import Callable
from typing import Any

import pytest

from app.lessons import Lesson, load_lessons

pytestmark = pytest.mark.browser

LESSONS = load_lessons()
PHONE, ZOOMED = (320, 640), (640, 450)  # a small phone; 1280 x 900 at 200 %
LEAST_PX = 9
MOST_HEIGHT = 0.45
WORDS = """() => {
  const svg = kv.page.stage.svg
  if (kv.page.stage.chart) return []
  const scale = svg.getScreenCTM().a
  return [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim())
    .map((text) => [text.textContent, parseFloat(getComputedStyle(text).fontSize) * scale])
}"""
WINDOW = """() => {
  const { canvas } = kv.page.stage
  return [canvas.scrollTop, canvas.clientHeight, canvas.scrollHeight]
}"""


@pytest.mark.parametrize("size", [PHONE, ZOOMED], ids=["phone", "zoomed"])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_every_word_of_a_figure_can_be_read(
    lesson: Lesson, size: tuple[int, int], read: Callable[..., Any]
):
    one = read(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page = one.open(lesson.path)
    one.complete()
    for index, step in enumerate(lesson.steps):
        one.to_step(index)
        words = page.evaluate(WORDS)
        small = [word for word in words if word[1] < LEAST_PX - 0.05]
        assert small == [], step.id
        assert page.evaluate("probe.spills()") == [], step.id
    height = page.locator(".stage-holder").bounding_box()["height"]
    assert height <= MOST_HEIGHT * size[1] + 1


IN_SIGHT = {  # what the words of a step speak of
    "read-all": (".cell.key.now", ".cell.value.now", '.cell[data-key^="out."]'),
    "a-pattern-is-a-mask": ('[data-key="c0.0"]', '[data-key="s0"]'),
    "sliding-window": ('[data-key="c0.0"]', '[data-key="s0"]'),
    "sparse": ('[data-key="c0.0"]', '[data-key="s0"]'),
    "your-own-pattern": ('[data-key="c0.0"]', '[data-key="s0"]'),
    "mixed-layers": ('[data-key="b0"]', '[data-key="b3"]'),
}
SEEN = """selectors => selectors.filter((selector) => {
  const { canvas } = kv.page.stage
  const place = canvas.getBoundingClientRect()
  const box = canvas.querySelector(selector).getBoundingClientRect()
  return !(place.top - 2 <= box.top && box.bottom <= place.bottom + 2)
})"""


@pytest.mark.parametrize("lesson", [LESSONS[0], LESSONS[2]], ids=lambda lesson: lesson.slug)
def test_what_a_step_speaks_of_is_in_sight_on_a_phone(lesson: Lesson, read: Callable[..., Any]):
    one = read(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = one.open(lesson.path)
    one.complete()
    looked = 0
    for index, step in enumerate(lesson.steps):
        if step.id in IN_SIGHT:
            one.to_step(index)
            assert page.evaluate(SEEN, IN_SIGHT[step.id]) == [], step.id
            looked += 1
    assert looked


def test_a_number_without_room_is_told_by_its_colour(read: Callable[..., Any]):
    one = read(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = one.open(f"{LESSONS[1].path}#latent")
    one.complete()
    one.until("() => document.querySelector('.step.on')?.id === 'latent'")
    told = page.evaluate("""() => [...document.querySelectorAll('.stage .cell[data-key^="c"]')]
      .filter((node) => !node.textContent)
      .map((node) => [node.kvTip()[1], parseFloat(node.style.getPropertyValue("--tint"))])""")
    told = sorted((abs(float(text.replace("\u2212", "-"))), tint) for text, tint in told)
    tints = [tint for _, tint in told]
    assert tints == sorted(tints)
    assert tints[-1] > 4 * tints[0]


def test_all_of_a_tall_figure_can_be_reached_by_its_buttons(read: Callable[..., Any]):
    one = read(viewport={"width": PHONE[0], "height": PHONE[1]}, reduced_motion="reduce")
    page = one.open(LESSONS[0].path)
    one.to_step(8)
    up, down = page.get_by_label("Show what is above"), page.get_by_label("Show what is below")
    for button, end in (
        (up, lambda top, _seen, _all: top <= 1),
        (down, lambda t, s, a: t + s >= a - 1),
    ):
        for _ in range(20):
            if button.is_disabled():
                break
            button.click()
            one.settle()
        assert end(*page.evaluate(WINDOW))
        assert button.is_disabled()


def test_the_window_follows_what_is_new_and_what_has_the_focus(read: Callable[..., Any]):
    one = read(viewport={"width": PHONE[0], "height": PHONE[1]}, reduced_motion="reduce")
    page = one.open(f"{LESSONS[0].path}#append")
    one.until("() => document.querySelector('.step.on')?.id === 'append'")

    def seen(selector: str) -> bool:
        canvas = page.locator(".scrolly .stage-canvas").bounding_box()
        box = page.locator(selector).first.bounding_box()
        return canvas["y"] - 2 <= box["y"] <= canvas["y"] + canvas["height"] - box["height"] + 2

    for _ in range(6):
        page.get_by_label("One word on").click()
        one.settle()
        assert seen(".scrolly .cell.key.now")
    before = page.evaluate("scrollY")
    page.locator(".scrolly .cell.key.now").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
        one.settle()
        assert seen(".scrolly .cell:focus")
    assert page.evaluate("scrollY") == before


def test_the_wheel_over_a_tall_figure_scrolls_the_page(read: Callable[..., Any]):
    one = read(viewport={"width": PHONE[0], "height": PHONE[1]}, reduced_motion="reduce")
    page = one.open(LESSONS[0].path)
    one.to_step(8)
    box = page.locator(".scrolly .stage-canvas").bounding_box()
    window, before = page.evaluate(WINDOW), page.evaluate("scrollY")
    page.mouse.move(box["x"] + 50, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, 30)
    one.until("y => scrollY === y + 30", before)
    assert page.evaluate(WINDOW) == window
