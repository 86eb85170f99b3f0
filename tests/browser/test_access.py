"""For everyone: axe finds nothing, the keyboard reaches all, motion and colours are choices."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from app.lessons import load_lessons
from app.pages import build, pages
from figures import FIGURES

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0]
AXE = Axe()
AFTER_MOTION_MS = 400  # nothing moves longer than 300 ms


def complaints(page: Any) -> list[str]:
    found = AXE.run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary'][:200]}"
        for one in found
        for node in one["nodes"][:5]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", list(pages()))
def test_axe_finds_nothing(path: str, scheme: str, read: Callable[..., Any]):
    one = read(color_scheme=scheme, reduced_motion="reduce")
    page = one.open(path, live=False)
    page.wait_for_timeout(AFTER_MOTION_MS)
    assert complaints(page) == []
    for more in page.locator("details").all()[:12]:
        more.evaluate("node => { node.open = true }")
    page.wait_for_timeout(100)
    assert complaints(page) == []


def test_axe_finds_nothing_on_a_phone_with_a_tooltip_open(read: Callable[..., Any]):
    one = read(viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    page = one.open(LESSON.path)
    one.to_step(8)
    page.locator(".scrolly .cell[role=button]").first.focus()
    assert page.locator(".tip").is_visible()
    assert complaints(page) == []


def test_a_number_tells_its_arithmetic_to_pointer_and_keyboard(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(LESSON.path)
    one.to_step(8)
    tip = page.locator("[role=tooltip]")
    cells = page.locator(".scrolly .cell[role=button]")
    cells.nth(6).hover()
    assert tip.is_visible()
    assert "×" in page.locator(".scrolly .cell[data-key=s0]").evaluate("n => n.kvTip().join(' ')")
    box = tip.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)  # the tooltip itself can be hovered
    page.wait_for_timeout(300)
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    cells.nth(2).focus()
    assert tip.is_visible()
    assert cells.nth(2).get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.mouse.move(5, 500)


def test_tooltips_stay_inside_the_window(read: Callable[..., Any]):
    one = read(viewport={"width": 320, "height": 700}, reduced_motion="reduce")
    page = one.open(LESSON.path)
    one.to_step(8)
    for cell in page.locator(".scrolly .cell[role=button]").all()[::7]:
        cell.focus()
        box = page.locator("[role=tooltip]").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
        assert box["y"] >= 0


def test_arrow_keys_walk_from_number_to_number(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(LESSON.path)
    one.to_step(7)

    def here() -> str:
        return page.evaluate("document.activeElement.dataset.key")

    assert page.locator(".scrolly .cell[tabindex='0']").count() == 1, "one stop for the Tab key"
    page.locator(".scrolly .cell[tabindex='0']").focus()
    assert here() == "k.0.0"
    for key, expected in (
        ("ArrowRight", "k.0.1"),
        ("ArrowDown", "k.1.1"),
        ("ArrowLeft", "k.1.0"),
        ("ArrowUp", "k.0.0"),
    ):
        page.keyboard.press(key)
        assert here() == expected
    assert page.evaluate("kv.page.steps.active") == 7
    one.say("I love you")
    assert page.locator(".scrolly .cell[tabindex='0']").count() == 1


def test_the_whole_lesson_can_be_read_by_keyboard(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(LESSON.path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for index in range(1, len(LESSON.steps)):
        page.keyboard.press("ArrowRight")
        one.until("i => kv.page.steps.active === i", index)
        assert page.evaluate("document.activeElement.id") == f"{LESSON.steps[index].id}-title"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("kv.page.steps.active") == len(LESSON.steps) - 1
    page.keyboard.press("k")
    one.until("i => kv.page.steps.active === i", len(LESSON.steps) - 2)


def test_every_stop_of_the_tab_key_is_seen_and_named(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(LESSON.path)
    stops = page.evaluate("probe.tabStops()")
    assert len(stops) > 60
    assert [html for html, seen in stops if not seen] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_targets_are_large_enough_for_a_finger(width: int, read: Callable[..., Any]):
    """24 px in both directions (WCAG 2.2, 2.5.8); links within text are excepted."""
    one = read(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page = one.open(LESSON.path)
    for index in range(len(LESSON.steps)):
        one.to_step(index)
        small = page.evaluate("probe.smallTargets()")
        assert small == []


@pytest.mark.parametrize("how", ["system", "switch"])
def test_reduced_motion_leaves_no_motion_and_loses_nothing(how: str, read: Callable[..., Any]):
    one = read(reduced_motion="reduce" if how == "system" else "no-preference")
    page = one.open(LESSON.path)
    if how == "switch":
        page.locator("[data-switch=motion]").click()
    one.to_step(7)
    page.locator(".stage-controls button[aria-label='One word on']").click()
    moving = page.evaluate("probe.moving()")
    assert moving == 0
    assert page.locator(".scrolly .cell.key.now").count() == 4


def test_motion_lasts_at_most_300_ms(read: Callable[..., Any]):
    page = read().open(LESSON.path)
    longest = page.evaluate("probe.longestMotion()")
    assert longest <= 0.3


def test_the_theme_switch_wins_over_the_system_and_is_remembered(read: Callable[..., Any]):
    page = read(color_scheme="dark").open(LESSON.path)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.locator("[data-switch=theme]").click()
    light = page.evaluate(paper)
    assert light != dark
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(paper) == light


@pytest.mark.parametrize("path", list(pages()))
def test_without_scripts_the_whole_text_is_there(path: str, read: Callable[..., Any]):
    one = read(java_script_enabled=False)
    one.page.goto(one.base + path)
    words = one.page.locator("main").inner_text()
    assert len(words) > 200
    for lesson in load_lessons():
        if lesson.path == path:
            for step in lesson.steps:
                assert step.title in words
    assert "need JavaScript" in one.page.locator("noscript").inner_text()
    assert build(path).title


@pytest.mark.parametrize("lesson", load_lessons()[:2], ids=lambda lesson: lesson.slug)
def test_print_gives_the_text_and_each_figure(lesson: Any, read: Callable[..., Any]):
    one = read()
    page = one.open(lesson.path, live=False)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    words = page.locator("main").inner_text()
    for step in lesson.steps:
        assert step.title in words
    assert page.evaluate("probe.stepsInInk()")
    drawn = page.locator(".printed-figure svg:visible, .printed-figure table:visible").count()
    assert drawn >= len(lesson.steps)
    assert not page.locator(".masthead").is_visible()
    assert len(page.pdf()) > 20_000


@pytest.mark.parametrize("width", [320, 1920])
def test_no_page_scrolls_sideways(width: int, read: Callable[..., Any]):
    one = read(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    for path in pages():
        page = one.open(path, live=False)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_every_control_changes_something(read: Callable[..., Any]):
    """For each param: some state of the others in which its values draw different pictures."""
    one = read(reduced_motion="reduce")
    page = one.open("/gallery")
    one.complete()
    dead = page.evaluate("probe.deadControls()")
    assert dead == []
    assert page.evaluate("kv.page.stages.length") == len(FIGURES)


CHART_COLOURS = """async () => {
  const doc = await kv.page.stage.chart.doc
  const found = []
  for (const model of doc._all_models.values()) {
    for (const name of ["line_color", "fill_color", "text_color", "label_text_color", "major_label_text_color"]) {
      const colour = model.properties[name] && (model[name]?.value ?? model[name])
      const drawn = /^(Line|Scatter|LabelSet|Legend|.*Axis)$/.test(model.type)
      if (drawn && typeof colour === "string" && colour.startsWith("#")) found.push([name, colour])
    }
  }
  for (const [name, data] of Object.entries(kv.page.stage.chart.wanted)) for (const colour of doc.get_model_by_name(name)?.data.colour ?? []) found.push(["fill_color", colour])
  return [getComputedStyle(document.documentElement).getPropertyValue("--paper").trim(), found]
}"""  # noqa: E501  (a program of its own)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.slug)
def test_the_lines_and_words_of_a_chart_stand_out_from_the_paper(
    lesson: Any, scheme: str, read: Callable[..., Any]
):
    one = read(color_scheme=scheme, reduced_motion="reduce")
    page = one.open(lesson.path, live=False)
    for step in one.chart_steps(lesson.steps):
        paper, colours = page.evaluate(CHART_COLOURS)
        assert colours, step.id
        for name, colour in colours:
            least = 4.5 if "text" in name else 3
            assert contrast(colour, paper) >= least, (step.id, name, colour)
