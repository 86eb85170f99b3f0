"""When the server goes away the reader keeps the text and the figures, and gets the rest back."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.lessons import load_lessons
from tests.tools.server import NGINX, Front, Running, behind_nginx

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
    banner, message = (
        page.locator(name).bounding_box() for name in (".banner", "[data-sentence-message]")
    )
    assert message["y"] >= banner["y"] + banner["height"], "neither lies over the other"
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


@pytest.fixture
def two_behind_nginx(tmp_path: Path) -> Iterator[Front]:
    with behind_nginx(tmp_path) as front:
        yield front


def wires(back: Running) -> int:
    connections = psutil.Process(back.process.pid).net_connections("tcp")
    return sum(one.status == psutil.CONN_ESTABLISHED for one in connections)


NOTE_THE_BANNER = """() => new MutationObserver(() => {
  if (!document.querySelector('.banner').hidden) sessionStorage.setItem('banner', 'seen')
}).observe(document.querySelector('.banner'), { attributes: true })"""


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx-light)")
def test_when_one_of_two_processes_ends_its_pages_go_on_at_the_other(
    two_behind_nginx: Front, read: Callable[..., Any]
):
    texts = ["I love you", "My dog is very happy!", "The cat sleeps", "We like the red apple"]
    readers = []
    for text in texts:
        one = read(base=two_behind_nginx.url)
        one.open(LESSON.path)
        one.say(text)
        one.to_step(3)
        one.until("id => location.hash === '#' + id && location.search", LESSON.steps[3].id)
        one.page.evaluate(NOTE_THE_BANNER)
        readers.append(one)

    max(two_behind_nginx.backs, key=wires).process.kill()
    readers[0].page.wait_for_timeout(1000 * BANNER_WITHIN_S)
    for one, text in zip(readers, texts, strict=True):
        one.until("() => window.kv?.connected && !kv.offline", seconds=60)
        one.until("t => kv.run?.text === t", text)
        one.until("() => kv.page.steps.active === 3")
        assert one.page.locator(".banner").is_hidden()
        one.say(f"{text} now")
    told = [one.page.evaluate("sessionStorage.getItem('banner')") for one in readers]
    assert "seen" in told, "those whose process ended are told"
    for one in readers:  # the browser itself reports a wire that breaks
        one.problems[:] = [p for p in one.problems if "WebSocket" not in p and "of 502" not in p]


def test_a_reader_who_leaves_costs_the_others_nothing(read: Callable[..., Any]):
    stays, leaves = read(), read()
    page = stays.open(LESSON.path)
    leaves.open(LESSON.path)
    leaves.page.close()
    stays.say("I love you")
    assert page.locator(".banner").is_hidden()
