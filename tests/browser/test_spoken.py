"""What a screen reader says of a figure, and the way through the pages without a mouse."""

from collections.abc import Callable
from typing import Any

import pytest

from app.lessons import load_lessons
from figures import FIGURES
from model.bugs.catalogue import BUGS

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0]
SPOKEN = """() => kv.page.stages.map((stage) => {
  stage.more.open = true
  stage.fillMore()
  const { status } = stage
  const table = stage.table.querySelector("table")
  const all = (node, selector) => [...node.querySelectorAll(selector)]
  const words = (selector) => all(table, selector).map((node) => node.textContent.trim())
  const picture = stage.chart ?? stage.svg
  const drawn = stage.chart ? [] : [...picture.children]
  return {
    name: stage.name, title: stage.spec.title, description: stage.spec.description,
    role: picture.getAttribute("role"), label: picture.getAttribute("aria-label"),
    status: status.textContent,
    live: [status.getAttribute("role"), status.getAttribute("aria-live")],
    caption: words("caption"), heads: words("thead th[scope=col]"),
    rows: words("tbody th[scope=row]"),
    widths: [...new Set([...table.rows].map((row) => row.cells.length))],
    buttons: all(picture, "[role=button]")
      .map((node) => [node.getAttribute("aria-label"), node.textContent]),
    silent: drawn.filter((node) => node.getAttribute("role") !== "button"
      && node.getAttribute("aria-hidden") !== "true").length,
  }
})"""


def test_every_figure_says_what_it_shows_and_names_its_numbers(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open("/gallery")
    one.complete()
    spoken = page.evaluate(SPOKEN)
    assert [told["name"] for told in spoken] == list(FIGURES)
    for told in spoken:
        name = told["name"]
        assert told["role"] in {"group", "img"}, name
        assert told["label"] == f"{told['title']}. {told['description']}", name
        assert told["live"] == ["status", "polite"], name
        assert told["status"].endswith("."), name
        assert len(told["status"].split()) >= 5, name
        assert len(told["caption"]) == 1, name
        assert told["caption"][0], name
        assert len(told["heads"]) >= 2, name
        assert all(told["heads"]), name
        assert all(told["rows"]), name
        assert len(told["rows"]) >= 1, name
        assert told["widths"] == [len(told["heads"])], f"{name}: a row without its header"
        assert told["silent"] == 0, f"{name}: a mark that is drawn twice for the ear"
        for label, text in told["buttons"]:
            assert label, name
            assert text.rstrip("…") in label, f"{name}: {label!r} does not say {text!r}"


def test_a_new_step_is_spoken_and_so_is_a_changed_value(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(f"{LESSON.path}#append")
    one.until("() => document.querySelector('.step.on')?.id === 'append'")
    status = page.locator(".stage-status")
    said = [status.inner_text()]
    page.get_by_label("One word on").press("Enter")
    said.append(status.inner_text())
    slider = page.locator(".stage-controls input[name=t]")
    slider.press("ArrowRight")
    said.append(status.inner_text())
    assert len(set(said)) == 3
    assert slider.get_attribute("aria-valuetext") == "step 5 of 9"
    assert [f"Step {n} of 9" in told for n, told in zip((3, 4, 5), said, strict=True)] == [True] * 3


def tab_to(page: Any, selector: str, most: int = 250) -> None:
    """Press Tab until the focus is on what is looked for."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
    raise AssertionError(f"{most} presses of Tab do not reach {selector}")


def test_the_way_from_start_to_calculator_needs_no_mouse(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open("/")
    tab_to(page, f"main a[href='{LESSON.path}']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{LESSON.path}*")
    one.until("() => document.documentElement.dataset.ready && kv.page.steps?.active === 0")

    page.keyboard.press("j")
    one.until("() => kv.page.steps.active === 1")
    tab_to(page, "[data-across=figure]", most=3)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.scrolly .cell[role=button]')")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") != first
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    tab_to(page, ".stage-controls input[name=bidirectional]")
    page.keyboard.press("Space")
    assert page.evaluate("kv.page.stage.params.bidirectional") is True
    page.locator("[data-across=text]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == f"{LESSON.steps[1].id}-title"
    assert page.evaluate("kv.page.steps.active") == 1

    open_from_menu(page, "/break-it")
    one.until("() => document.documentElement.dataset.ready && kv.page.stage?.name === 'bug-trace'")
    tab_to(page, ".step [data-try]")
    page.keyboard.press("Enter")
    assert "switched off" in page.locator(".stage-status").inner_text()

    open_from_menu(page, "/calculator")
    page.wait_for_selector("html[data-live=yes]")
    tab_to(page, "input[name=tokens]")
    page.keyboard.press("Control+a")
    page.keyboard.type("123")
    one.until("() => document.querySelector('.calc-answer').textContent.includes('123 tokens')")


def open_from_menu(page: Any, path: str) -> None:
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.locator(".skip").focus()
    tab_to(page, ".menu summary")
    page.keyboard.press("Enter")
    tab_to(page, f".menu a[href='{path}']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}*")


def test_every_bug_can_be_met_and_switched_by_keyboard(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open("/break-it", live=False)
    for index, name in enumerate(BUGS):
        one.until("i => kv.page.steps.active === i", index)
        assert page.locator(".step.on").get_attribute("id") == name
        assert BUGS[name].title in page.locator(".stage-status").inner_text()
        page.keyboard.press("ArrowRight")
