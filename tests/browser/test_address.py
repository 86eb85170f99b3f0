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


CHOSEN = {
    # what the reader sets in a figure of a lesson: step, control, value seen, word of the address
    "append": ("t", "4", "t=5"),
    "one-step": ("zero", True, "zero=1"),
    "token-passes": ("prompt", "3", "prompt=10"),
    "proof": ("arithmetic", "blas", "arithmetic=blas"),
    "choosing": ("temperature", "50", "temperature=0.5"),
    "v4-layers": ("depth", "7", "depth=8"),
}


def place_of(figure: str) -> tuple[Any, Any]:
    """The first lesson step that shows this figure."""
    steps = ((lesson, step) for lesson in LESSONS for step in lesson.steps)
    return next((lesson, step) for lesson, step in steps if step.figure == figure)


def choose(page: Any, name: str, value: Any) -> None:
    """Set a control of the active step's figure as a hand would."""
    control = page.locator(f".scrolly .stage-controls [name={name}]")
    if value is True:
        control.check()
    elif control.evaluate("node => node.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)


@pytest.mark.parametrize("figure", CHOSEN)
def test_what_is_chosen_in_a_figure_is_in_the_address_and_comes_back(
    figure: str, read: Callable[..., Any]
):
    lesson, step = place_of(figure)
    name, value, word = CHOSEN[figure]
    one, friend = read(), read()
    page = one.open(f"{lesson.path}#{step.id}", live=False)
    one.until("id => document.querySelector('.step.on')?.id === id", step.id)
    before = page.evaluate("history.length")
    choose(page, name, value)
    one.until("word => location.search.slice(1).split('&').includes(word)", word)
    assert page.evaluate("history.length") == before
    params = page.evaluate("kv.page.stage.params")
    page.reload()
    one.until("figure => kv.page.stage?.name === figure", figure)
    assert page.evaluate("kv.page.stage.params") == params
    other = friend.open(page.url, live=False)
    friend.until("figure => kv.page.stage?.name === figure", figure)
    assert other.evaluate("kv.page.stage.params") == params
    assert other.locator(".notice:visible").count() == 0


def test_a_choice_belongs_to_its_place_and_leaves_the_address_with_it(read: Callable[..., Any]):
    lesson, step = place_of("append")
    one = read()
    page = one.open(f"{lesson.path}?t=5#{step.id}", live=False)
    one.until("() => location.search === '?t=5'")
    index = page.evaluate("kv.page.steps.active")
    one.to_step(index + 1)
    one.until("() => location.search === ''")
    one.to_step(index)
    assert page.evaluate("kv.page.stage.params.t") != 4


def test_back_and_forward_within_a_page_bring_the_figure_back(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(f"{LESSON.path}#append")
    choose(page, "t", "4")
    one.until("() => location.search === '?t=5'")
    target = LESSON.steps[2].id
    page.evaluate("id => document.querySelector(`#${id} h2 a`).click()", target)
    one.until("id => location.hash === '#' + id && location.search === ''", target)
    page.go_back()
    one.until("() => kv.page.stage.name === 'append' && kv.page.stage.params.t === 4")
    one.until("() => location.search === '?t=5' && location.hash === '#append'")
    page.go_forward()
    one.until("id => document.querySelector('.step.on').id === id", target)
    one.until("() => location.search === ''")


def test_a_sentence_and_a_step_of_it_are_waited_for_together(read: Callable[..., Any]):
    """Step 11 is past the end of the first sentence's run, and within the asked one's."""
    one = read()
    page = one.open(f"{LESSON.path}?s=the+quick+brown+fox+jumps+over+the+lazy+dog&t=9#append")
    one.until("() => kv.run.text.startsWith('the quick')")
    one.until("() => kv.page.stage.params.t === 8")
    assert page.locator(".notice:visible").count() == 0
    assert "t=9" in page.url


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("t=99#append", "decode step 99; 9 is shown"),
        ("t=-5#append", "decode step -5; 1 is shown"),
        ("t=2.4#append", "decode step 2.4; 2 is shown"),
        ("t=soon#append", "decode step soon; 3 is shown"),
        ("zero=maybe#one-step", "first place maybe; 0 is shown"),
        ("arithmetic=roman#not-an-approximation", "order of sums roman; fixed is shown"),
    ],
)
def test_params_out_of_range_are_put_right_with_a_visible_word(
    place: str, word: str, read: Callable[..., Any]
):
    one = read()
    page = one.open(f"{LESSON.path}?{place}", live=False)
    one.until("() => !document.querySelector('[data-notice]').hidden")
    assert word in page.locator(".notice:visible").first.inner_text()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator(".notice:visible").count() == 0, "the address has been put right too"


def test_the_lab_keeps_its_bug_and_its_switch(read: Callable[..., Any]):
    one = read()
    page = one.open("/break-it#rope-twice", live=False)
    one.until("() => document.querySelector('.step.on')?.id === 'rope-twice'")
    page.locator("#rope-twice [data-try]", has_text="Switch it off").click()
    one.until("() => location.search === '?on=0'")
    page.reload()
    one.until("() => document.querySelector('.step.on')?.id === 'rope-twice'")
    assert page.evaluate("kv.page.stage.params.on") is False
    page.locator(".stage-controls [name=on]").check()
    one.until("() => location.search === '' && location.hash === '#rope-twice'")


def test_the_gallery_keeps_the_choices_of_every_figure(read: Callable[..., Any]):
    one = read()
    page = one.open("/gallery?ring.window=6&append.t=4&ring.tokens=99", live=False)
    find = "name => kv.page.stages.find(stage => stage.name === name).params"
    assert page.evaluate(find, "append")["t"] == 3
    assert page.evaluate(find, "ring")["window"] == 6
    assert "tokens so far 99; 20 is shown" in page.locator(".notice:visible").first.inner_text()
    one.until("() => location.search.includes('ring.tokens=20')")


def test_playing_on_its_own_does_not_write_the_address(read: Callable[..., Any]):
    one = read()
    page = one.open("/", live=False)
    one.until("() => kv.page.stages[0].params.t >= 2")
    assert page.evaluate("location.search") == ""
    page.locator(".stage button[aria-label='One word back']").click()
    one.until("() => /^.t=\\d+$/.test(location.search)")
    still = page.url
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(1200)
    assert page.url == still


def test_answers_survive_a_reload_and_are_not_in_the_link(read: Callable[..., Any]):
    one, friend = read(), read()
    page = one.open(LESSON.path, live=False)
    form = page.locator("form.question").first
    form.locator("input").first.check()
    form.locator("button").click()
    verdict = form.locator(".verdict").inner_text()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("form.question .verdict").first.inner_text() == verdict
    other = friend.open(page.url, live=False)
    assert other.locator("form.question .verdict").first.inner_text() == ""


def test_the_calculator_keeps_its_form_when_the_link_is_copied(read: Callable[..., Any]):
    one = read(permissions=["clipboard-read", "clipboard-write"])
    page = one.open("/calculator")
    page.fill("[name=tokens]", "777")
    one.until("() => location.search.includes('tokens=777')")
    page.locator("[data-copy]").click()
    one.until("() => document.querySelector('[data-copy] output').textContent === 'copied'")
    assert "tokens=777" in page.evaluate("navigator.clipboard.readText()")


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


def test_a_reload_in_the_middle_of_a_step_stays_in_that_step(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON.path)
    one.say("Ünïcode 🦊 <b>dog</b> the cat does not see 12,5 birds and so on and on and on")
    for index in (2, 5, 8):
        one.to_step(index)
        page.evaluate(
            "i => { const step = document.querySelectorAll('.step')[i].getBoundingClientRect();"
            " scrollBy({ top: step.bottom - innerHeight / 2 - 6, behavior: 'instant' }) }",
            index,
        )
        one.until("i => kv.page.steps.active === i", index)
        one.until("id => location.hash === '#' + id", LESSON.steps[index].id)
        page.reload()
        page.wait_for_selector("html[data-live=yes]")
        one.until("() => kv.run?.text.startsWith('Ünïcode')")
        page.wait_for_timeout(600)
        assert page.evaluate("kv.page.steps.active") == index
        assert page.evaluate("location.hash") == f"#{LESSON.steps[index].id}"
        page.wait_for_timeout(1600)  # the address no longer holds the page by then


def test_a_typed_sentence_and_what_was_chosen_go_along_to_the_next_lesson(
    read: Callable[..., Any],
):
    one = read()
    page = one.open(f"{LESSON.path}?layer=2")
    one.say("I love you")
    one.until("() => location.search.includes('s=I+love+you')")
    page.locator("details.menu summary").click()
    listed = page.locator(f'details.menu a[href^="{LESSONS[1].path}"]').get_attribute("href")
    following = page.locator(".onward a").get_attribute("href")
    assert listed == following == f"{LESSONS[1].path}?s=I+love+you&layer=2"
    page.goto(one.base + "/glossary?s=I+love+you#key")  # a page where none is typed passes it on
    page.wait_for_selector("html[data-ready]")
    page.locator(f'main a[href^="{LESSONS[1].path}?s="]').first.click()
    page.wait_for_selector("html[data-live=yes]")
    one.until("() => kv.run?.text === 'I love you'")
    assert page.locator("#sentence").input_value() == "I love you"


def test_a_link_says_nothing_of_a_reader_who_typed_nothing(read: Callable[..., Any]):
    page = read().open(LESSON.path, live=False)
    assert page.locator(".onward a").get_attribute("href") == LESSONS[1].path
