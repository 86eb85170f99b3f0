"""The calculator as a reader uses it: models beside each other, a pasted config, a dropped one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from model.sizing import catalogue
from model.sizing.question import Question
from model.sizing.size import total_bytes

pytestmark = pytest.mark.browser


PASTE = """text => {
  const area = document.querySelector('[name=config]')
  area.value = text
  area.dispatchEvent(new Event('input', { bubbles: true }))
}"""


def totals(page: Any) -> list[str]:
    return page.eval_on_selector_all(".calc-total .quiet", "nodes => nodes.map(n => n.textContent)")


def expected(name: str, tokens: int) -> str:
    return f"{total_bytes(catalogue.load(name), Question(tokens=tokens)):,} bytes"


def test_models_stand_side_by_side_with_exact_sizes(read: Callable[..., Any]):
    watched = read()
    page = watched.open("/calculator?model=Gemma%203%2027B&model=Llama%202%207B&tokens=32768")
    watched.until("() => document.querySelectorAll('.calc-total').length === 2")
    shown = totals(page)
    assert expected("Gemma 3 27B", 32_768) in shown[0]
    assert expected("Llama 2 7B", 32_768) in shown[1]
    assert page.locator(".calc-curve table tbody tr").count() > 10


def test_dragging_the_slider_answers_and_the_address_follows(read: Callable[..., Any]):
    watched = read()
    page = watched.open("/calculator")
    page.eval_on_selector(
        "[name=tokens-slider]",
        "node => { node.value = 60; node.dispatchEvent(new Event('input', {bubbles: true})) }",
    )
    tokens = int(page.input_value("[name=tokens]"))
    watched.until(
        "t => document.querySelector('.calc-total').textContent.includes(t)", f"{tokens:,}"
    )
    assert expected("Llama 2 7B", tokens) in totals(page)[0]
    assert f"tokens={tokens}" in page.url


def test_a_pasted_config_is_sized_and_rubbish_is_refused_in_words(read: Callable[..., Any]):
    watched = read()
    page = watched.open("/calculator")
    page.evaluate(PASTE, json.dumps(dict(catalogue.find("Mistral 7B v0.1").config)))
    watched.until("() => document.querySelectorAll('.calc-total').length === 2")
    assert expected("Mistral 7B v0.1", 4096) in totals(page)[0]
    before = totals(page)
    page.evaluate(PASTE, '<img src=x onerror="window.pwned = 1"> not a config')
    watched.until("() => /not JSON/.test(document.querySelector('.calc-message').textContent)")
    assert totals(page) == before
    assert page.evaluate("window.pwned") is None


def test_values_out_of_bounds_are_moved_and_said(read: Callable[..., Any]):
    watched = read()
    page = watched.open("/calculator?batch=-4&tokens=512")
    watched.until("() => /out of bounds/.test(document.querySelector('.calc-message').textContent)")
    assert page.input_value("[name=batch]") == "1"


def test_an_answer_to_what_was_asked_before_is_told_and_greyed(read: Callable[..., Any]):
    watched = read()
    page = watched.open("/calculator")
    answer = page.locator(".calc-answer")
    page.fill("[name=memory]", "abc")
    watched.until(
        "() => /not understood/.test(document.querySelector('.calc-message').textContent)"
    )
    assert "asked before" in page.locator(".calc-message").inner_text()
    assert answer.evaluate("node => Number(getComputedStyle(node).opacity)") < 0.5
    page.fill("[name=memory]", "24")
    watched.until("() => /fits/.test(document.querySelector('.calc-answer').textContent)")
    assert answer.evaluate("node => getComputedStyle(node).opacity") == "1"
