"""The reader's sentence: anything can be typed, the latest wins, nobody else sees it."""

from collections.abc import Callable
from typing import Any

import pytest

from app.lessons import load_lessons
from app.runs import DEFAULT_SENTENCE, EXAMPLES, MAX_CHARS
from model.toy.record import record

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0].path

# What is typed, and a word of what the reader is then told ("" where it simply runs).
HOSTILE = {
    "nothing": ("", "nothing to read"),
    "spaces": ("     ", "nothing to read"),
    "ten thousand words": ("word " * 10_000, "characters were read"),
    "control characters": ("the\x07 cat\x1b[31m sat\x7f", ""),
    "a script": ("<script>window.pwned = 1</script>", ""),
    "an image": ("<img src=x onerror='window.pwned = 1'> cat", ""),
    "an svg": ("<svg/onload=window.pwned=1> the cat", ""),
    "a handler": ('" onfocus="window.pwned=1" autofocus="', ""),
    "right to left": ("\u202ethe cat sat\u202c שלום مرحبا", ""),
    "emoji": ("👩‍👩‍👧‍👦 loves 🍕 🇫🇷", ""),
    "a template": ("{{ live.n-steps }} ${window.pwned=1}", ""),
}


def pictured(page: Any) -> str:
    return page.evaluate("probe.picture()")


def test_typing_anything_leaves_a_page_that_works(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open(LESSON)
    one.to_step(7)
    for name, (text, told) in HOSTILE.items():
        one.say(DEFAULT_SENTENCE)
        page.wait_for_timeout(20)
        before, sent = pictured(page), page.evaluate("kv.run.text")
        page.fill("#sentence", text)
        page.locator("#sentence").press("Enter")
        if told:
            one.until(
                "t => document.querySelector('[data-sentence-message]').textContent.includes(t)",
                told,
            )
        else:
            one.until("t => kv.run.text !== t", sent)
        one.settle()
        if told and told != HOSTILE["ten thousand words"][1]:
            assert pictured(page) == before, f"{name}: the last good figure stays"
        assert page.evaluate("window.pwned") is None, name
        assert page.locator(".scrolly .cell").count() > 0
        assert (
            page.evaluate(
                "document.querySelectorAll('main script:not([type]), main img[src=x]').length"
            )
            == 0
        )
        assert page.locator("[data-tokens]").inner_text().strip()


def test_what_is_cut_is_said_with_both_numbers(read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON)
    page.fill("#sentence", "word " * 10_000)
    one.until(
        "() => document.querySelector('[data-sentence-message]').textContent.includes('read')"
    )
    told = page.locator("[data-sentence-message]").first.inner_text()
    assert f"{MAX_CHARS:,}" in told
    assert "50,000" in told
    counted = page.locator("[data-count]").inner_text()
    assert "left over" in counted
    assert page.locator(".token.left").count() > 0


def test_typing_is_latest_wins_with_one_question_on_the_wire(read: Callable[..., Any]):
    """Every letter is typed fast; what is drawn is always of a later beginning, last the whole."""
    one = read()
    under = [0]
    most = [0]

    def sent(payload: str) -> None:
        if '"attr":"ask"' in payload:
            under[0] += 1
            most[0] = max(most[0], under[0])

    def received(payload: str) -> None:
        if '"attr":"reply"' in payload:
            under[0] -= 1

    def wired(socket: Any) -> None:
        socket.on("framesent", sent)
        socket.on("framereceived", received)

    one.page.on("websocket", wired)
    page = one.open(LESSON)
    one.complete()
    page.evaluate("""() => {
      window.drawn = []
      const setRun = kv.setRun
      kv.setRun = (run) => { drawn.push(run.text); setRun(run) }
    }""")
    sentence = "The quick brown fox jumps over the lazy dog"
    page.fill("#sentence", "")
    page.locator("#sentence").press_sequentially(sentence, delay=5)
    one.until("t => kv.run.text === t", sentence)
    one.complete()
    drawn = page.evaluate("drawn")
    assert drawn[-1] == sentence
    assert all(sentence.startswith(text) for text in drawn)
    assert [len(text) for text in drawn] == sorted(len(text) for text in drawn)
    assert page.locator("[data-output]").inner_text() == record(sentence).sentence
    assert most[0] == 1
    assert under[0] == 0


@pytest.mark.parametrize("text", EXAMPLES[1:3])
def test_an_example_is_one_click(text: str, read: Callable[..., Any]):
    one = read()
    page = one.open(LESSON)
    page.locator(".examples summary").click()
    page.get_by_role("button", name=text, exact=True).click()
    one.until("t => kv.run.text === t", text)
    assert page.locator("#sentence").input_value() == text
    assert not page.locator(".examples").evaluate("node => node.open")


def test_two_readers_do_not_see_each_other(read: Callable[..., Any]):
    first, second = read(), read()
    mine, theirs = first.open(LESSON), second.open(LESSON)
    first.say("I love you")
    theirs.wait_for_timeout(300)
    assert theirs.evaluate("kv.run.text") == DEFAULT_SENTENCE
    second.say("My dog is very happy!")
    mine.wait_for_timeout(300)
    assert mine.evaluate("kv.run.text") == "I love you"
    assert theirs.locator("[data-output]").inner_text() == record("My dog is very happy!").sentence


def test_on_a_phone_the_sentence_is_in_reach_at_every_step_and_gives_the_place_back(
    read: Callable[..., Any],
):
    one = read(viewport={"width": 390, "height": 844})
    page = one.open(LESSON)
    one.to_step(5)
    step = page.evaluate("kv.page.steps.active")
    assert page.locator("#sentence").bounding_box()["y"] < 0, "it has scrolled away"
    page.click("[data-raise]")
    assert page.locator("#sentence").bounding_box()["y"] >= 0
    assert page.evaluate("document.activeElement.id") == "sentence"
    page.keyboard.type("the white dog sleeps")
    one.until("t => kv.run.text === t", "the white dog sleeps")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('[data-raise]')")
    one.settle()
    assert page.evaluate("kv.page.steps.active") == step


def test_at_any_step_it_is_said_beside_the_input_that_words_are_left_out(
    read: Callable[..., Any],
):
    one = read()
    page = one.open(LESSON)
    one.to_step(8)
    one.say("cat " * 40)
    told = page.locator("[data-sentence-message]").first
    assert told.is_visible()
    assert "12 words" in told.inner_text()
    assert "28 more" in told.inner_text()
    one.say("the cat sleeps")
    assert not told.is_visible()


def test_a_menu_goes_away_by_escape_by_another_and_by_going_elsewhere(read: Callable[..., Any]):
    page = read().open(LESSON)
    contents, examples = page.locator("details.menu"), page.locator("details.examples")

    def are_open() -> list[bool]:
        page.wait_for_timeout(50)
        return [menu.evaluate("node => node.open") for menu in (contents, examples)]

    contents.locator("summary").click()
    assert are_open() == [True, False]
    examples.locator("summary").click()
    assert are_open() == [False, True]
    page.keyboard.press("Escape")
    assert are_open() == [False, False]
    assert examples.locator("summary").evaluate("node => node === document.activeElement")
    contents.locator("summary").click()
    page.locator("h1").click()
    assert are_open() == [False, False]
    examples.locator("summary").click()
    page.locator("#sentence").focus()
    assert are_open() == [False, False]
