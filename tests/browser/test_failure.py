"""When the server goes away the reader keeps the text and the figures, and gets the rest back."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.lessons import load_lessons

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0]
SENTENCE = "My dog is very happy!"
BANNER_WITHIN_S = 5


@pytest.fixture
def mortal(server: Any) -> Iterator[Any]:
    """A server of this test's own, to be killed."""
    one = type(server)()
    one.start()
    yield one
    one.kill()


def test_a_lost_server_is_said_survived_and_recovered_from(mortal: Any, read: Callable[..., Any]):
    one = read(base=mortal.base)
    page = one.open(LESSON.path)
    one.say(SENTENCE)
    one.complete()
    one.to_step(7)
    one.until(
        "id => location.hash === '#' + id && location.search.includes('s=')", LESSON.steps[7].id
    )
    seen = page.evaluate("probe.picture()")

    mortal.kill()
    one.until("() => !document.querySelector('.banner').hidden", seconds=BANNER_WITHIN_S)
    assert "server is away" in page.locator(".banner").inner_text()
    assert page.evaluate("probe.picture()") == seen, "the last figure stays"
    assert len(page.locator("main").inner_text()) > 3_000, "the text stays"

    for index in (9, 2, 8):  # every frame of the run is already here
        one.to_step(index)
        assert page.evaluate("kv.page.steps.active") == index
        assert page.locator(".scrolly .cell").count() > 0
    page.locator(".stage-controls button[aria-label='One word back']").click()
    page.fill("#sentence", "I love you")
    one.until(
        "() => document.querySelector('[data-sentence-message]').textContent.includes('away')"
    )
    assert page.evaluate("kv.run.text") == SENTENCE
    one.until("() => location.search.includes('I+love+you')")

    mortal.start()
    one.until("() => window.kv?.connected && !kv.offline", seconds=60)
    one.until("() => kv.run?.text === 'I love you'")
    one.until("() => kv.page.steps.active === 8")
    assert page.locator(".banner").is_hidden()
    one.say(SENTENCE)
    expected = [
        text for text in one.problems if "ERR_CONNECTION_REFUSED" in text or "WebSocket" in text
    ]
    for problem in expected:  # the browser itself reports every knock at a closed door
        one.problems.remove(problem)


def test_a_reader_who_leaves_costs_the_others_nothing(read: Callable[..., Any]):
    stays, leaves = read(), read()
    page = stays.open(LESSON.path)
    leaves.open(LESSON.path)
    leaves.page.close()
    stays.say("I love you")
    assert page.locator(".banner").is_hidden()
