"""The bug lab, the questions and the glossary, as a reader uses them."""

from collections.abc import Callable
from typing import Any

import pytest

from app import asked
from model.bugs.catalogue import BUGS
from model.bugs.run import run_bug

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 360])
def test_every_bug_has_ink_on_and_off_and_only_a_wrong_one_is_marked(
    width: int, read: Callable[..., Any]
):
    one = read(viewport={"width": width, "height": 860})
    page = one.open("/break-it", live=False)
    for index, name in enumerate(BUGS):
        one.to_step(index)
        one.until("id => document.querySelector('.step.on').id === id", name)
        outcome = run_bug(name)
        n_bad = sum(step.bad for step in outcome.steps)
        assert page.locator(".lab .bar.bad.now").count() == n_bad + bool(n_bad)
        assert page.locator(".lab .cell").count() == len(outcome.steps)
        page.locator(".step.on [data-try]").first.evaluate("button => button.click()")
        one.settle()
        assert "switched off" in page.locator(".stage-status").inner_text()
        assert page.locator(".lab .bar.bad").count() == 0
        assert page.locator(".lab .bar").count() == len(outcome.steps)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_steps_count_from_one_and_chances_are_not_called_logits(read: Callable[..., Any]):
    one = read()
    page = one.open("/break-it", live=False)
    for name in ("top-left-mask", "mask-skipped", "acceptance-law"):
        bug, first = BUGS[name], run_bug(name).first_bad_step
        one.to_step(list(BUGS).index(name))
        one.until("id => document.querySelector('.step.on').id === id", name)
        one.settle()
        said = page.locator(".stage-status").inner_text()
        if bug.compared == "logits":
            assert first is not None
            assert f"wrong from step {first + 1} on" in said
        else:
            assert bug.compared in said
            assert "logits" not in page.locator(".lab .stage-holder").inner_text()
            assert "word" not in said


def test_a_bug_can_be_linked_and_shows_both_sources(read: Callable[..., Any]):
    one = read()
    page = one.open("/break-it#gqa-tiled", live=False)
    one.until("() => document.querySelector('.step.on')?.id === 'gqa-tiled'")
    page.locator("#gqa-tiled .twins summary").click()
    assert "repeat_interleave" in page.locator("#gqa-tiled .code.right").inner_text()
    assert "torch.cat" in page.locator("#gqa-tiled .code.wrong").inner_text()


def test_a_question_is_marked_and_says_why(read: Callable[..., Any]):
    page = read().open("/questions", live=False)
    first = next(iter(asked.mixed()))["question"]
    form = page.locator(f"form#{first.id}")
    form.locator(f'input[value="{first.answer}"]').check()
    form.locator("button").click()
    assert form.locator(".verdict").inner_text() == "Right."
    assert form.locator(".reason").is_visible()
    assert page.locator("[data-score]").inner_text().startswith("1 right of 1 answered")


def test_a_term_tells_its_meaning_to_mouse_and_keyboard(read: Callable[..., Any]):
    page = read().open("/lesson/the-cache-step-by-step", live=False)
    term = page.locator(".step .term").first
    term.focus()
    assert page.locator("#tip").inner_text() == term.get_attribute("data-tip")
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    term.hover()
    assert page.locator("#tip").is_visible()
    slug = term.get_attribute("data-term")
    term.click()
    page.wait_for_url(f"**/glossary#{slug}")
    assert page.locator(f"[id={slug}]").is_visible()
