"""Every slider of every figure: each position can be reached, and each shows something else."""

from collections.abc import Callable
from typing import Any

import pytest

from figures import FIGURES
from figures.base import schema

pytestmark = pytest.mark.browser

SLIDERS = {
    (name, one["name"])
    for name, figure in FIGURES.items()
    for one in schema(figure)
    if one["kind"] in {"time", "range"}
}


@pytest.mark.parametrize("text", ["The black cat sees a white bird.", "I love you"])
def test_no_position_of_a_slider_is_dead(text: str, read: Callable[..., Any]):
    """Both ends are reached, and no position draws and says what the one before it does."""
    one = read(reduced_motion="reduce")
    page = one.open("/gallery")
    one.say(text)
    one.complete()
    found = page.evaluate("probe.sliders()")
    assert {tuple(slider) for slider in found["sliders"]} == SLIDERS
    assert found["stuck"] == []
    assert found["alike"] == []


def test_the_sweep_sees_a_slider_that_reaches_past_its_recording(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open("/gallery?figure=eviction")
    one.say("I love you")
    one.complete()
    page.evaluate("() => { delete kv.figures.eviction.bounds }")
    found = page.evaluate("probe.sliders(['eviction'])")
    assert [(name, slider) for name, slider, *_ in found["alike"]].count(("eviction", "budget")) > 1


def test_what_an_address_asks_of_a_slider_is_brought_within_the_recording(read: Callable[..., Any]):
    one = read(reduced_motion="reduce")
    page = one.open("/gallery?figure=paging&tick=999")
    one.until("kv.page.stages[0].params?.tick !== undefined")
    slider = page.locator("input[name=tick]")
    assert int(slider.input_value()) == int(slider.get_attribute("max"))
    last = page.locator(".stage-status").first.inner_text()
    slider.press("ArrowRight")
    assert page.locator(".stage-status").first.inner_text() == last
    slider.press("ArrowLeft")
    assert page.locator(".stage-status").first.inner_text() != last
