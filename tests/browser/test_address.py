"""The address is the state: it can be shared, reloaded, gone back from, and typed wrongly."""

from collections.abc import Callable
from typing import Any

import pytest

from app.lessons import load_lessons
from app.pages import pages

pytestmark = pytest.mark.browser

LESSONS = load_lessons()
LESSON = LESSONS[0]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_every_step_is_a_deep_link(lesson: Any, read: Callable[..., Any]):
    one = read()
    page = one.open(lesson.path, live=False)
    for index in (len(lesson.steps) - 1, 1, len(lesson.steps) // 2):
        page.goto("about:blank")
        page = one.open(f"{lesson.path}#{lesson.steps[index].id}", live=False)
        one.until("i => kv.page.steps.active === i", index)
        assert page.locator(f"#{lesson.steps[index].id}").get_attribute("aria-current") == "step"


def test_the_address_follows_the_step_without_filling_the_history(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON.path)
    before = page.evaluate("history.length")
    for index in (3, 6, 9, 2):
        one.to_step(index)
        one.until("id => location.hash === '#' + id", LESSON.steps[index].id)
    assert page.evaluate("history.length") == before


def test_back_returns_to_where_the_reader_was(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON.path)
    one.to_step(4)
    one.until("id => location.hash === '#' + id", LESSON.steps[4].id)
    page.locator("a.brand").click()
    page.wait_for_url("**/")
    page.go_back()
    page.wait_for_selector("html[data-ready]")
    one.until("() => kv.page.steps.active === 4")
    page.go_forward()
    page.wait_for_url("**/")


def test_reload_and_a_shared_link_bring_the_same_state(read: Callable[..., Any]):
    one, friend = read(), read()
    page = one.open(LESSON.path)
    one.say("My dog is very happy!")
    one.to_step(8)
    page.locator(".stage-controls select[name=head]").select_option(label="2")
    page.locator(".stage-controls select[name=layer]").select_option(label="1")
    one.until("() => location.search.includes('head=2') && location.hash === '#read-all'")
    seen = page.evaluate("probe.picture()")
    page.reload()
    one.until("() => kv.run?.text === 'My dog is very happy!' && kv.page.steps.active === 8")
    one.settle()
    assert page.evaluate("probe.picture()") == seen
    other = friend.open(page.url)
    friend.until("() => kv.run?.text === 'My dog is very happy!' && kv.page.steps.active === 8")
    friend.settle()
    assert other.evaluate("probe.picture()") == seen
    assert other.locator("#sentence").input_value() == "My dog is very happy!"


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("layer=99", "layer 2 is shown"),
        ("head=-3", "head 1 is shown"),
        ("layer=abc", "layer 1 is shown"),
        ("head=1e9", "head 2 is shown"),
        ("layer=1.5", "layer 1 is shown"),
    ],
)
def test_values_out_of_range_are_clamped_with_a_visible_word(
    query: str, word: str, read: Callable[..., Any]
):
    one = read()
    page = one.open(f"{LESSON.path}?{query}#append", live=False)
    assert word in page.locator(".notice:visible").first.inner_text()
    assert page.locator(".scrolly .cell").count() > 0


@pytest.mark.parametrize("path", list(pages()))
def test_a_hostile_address_breaks_no_page(path: str, read: Callable[..., Any]):
    one = read()
    query = (
        "s=%3Cimg%20src%3Dx%20onerror%3D%22window.pwned%3D1%22%3E&layer=%3Cscript%3E"
        "&head=99999999999999999999&figure=%22%3E%3Csvg%20onload%3Dwindow.pwned%3D1%3E"
        "&embed=%00&t=-5"
    )
    page = one.open(f"{path}?{query}#%22onmouseover=%22window.pwned=1", live=False)
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert page.locator("h1").first.inner_text().strip()


def test_a_figure_nobody_has_is_said_and_the_gallery_stays(read: Callable[..., Any]):
    page = read().open("/gallery?figure=nonsense", live=False)
    assert "nonsense" in page.locator(".notice:visible").first.inner_text()
    assert page.locator(".gallery-entry:visible").count() > 1


def test_a_figure_alone_hides_the_others_and_embed_hides_the_page(read: Callable[..., Any]):
    one = read()
    page = one.open("/gallery?figure=append&embed=1&t=3&layer=2", live=False)
    assert page.locator(".gallery-entry:visible").count() == 1
    assert page.locator(".masthead:visible").count() == 0
    assert page.locator(".stage:visible").get_attribute("data-figure") == "append"
    assert page.evaluate("kv.page.stages.find(s => s.name === 'append').params") == {
        "t": 2,
        "layer": 1,
        "head": 0,
    }


def test_copy_link_copies_this_very_state(read: Callable[..., Any]):
    one = read(permissions=["clipboard-read", "clipboard-write"])
    page = one.open(LESSON.path)
    one.to_step(2)
    one.say("I love you")
    page.locator("[data-copy]").click()
    one.until("() => document.querySelector('[data-copy] output').textContent === 'copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    assert "I+love+you" in copied
    assert copied.endswith(f"#{LESSON.steps[2].id}")
