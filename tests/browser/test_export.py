"""The static site works from a disk: no server, no request outside, everything for one sentence."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.export import file_of
from app.lessons import load_lessons
from app.pages import pages
from app.runs import DEFAULT_SENTENCE
from model.toy.record import record

pytestmark = pytest.mark.browser

LESSON = load_lessons()[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert main(["export", str(folder)]) == 0
    return folder


@pytest.fixture
def copied(site: Path, read: Callable[..., Any]) -> Any:
    one = read(base=site.as_uri() + "/", reduced_motion="reduce", offline=True)
    one.open(file_of(LESSON.path), live=False)
    return one


def test_every_page_opens_from_the_disk(site: Path, read: Callable[..., Any]):
    one = read(base=site.as_uri() + "/", offline=True)
    for path in pages():
        page = one.open(file_of(path), live=False)
        page.wait_for_timeout(100)
        assert page.locator("h1").count() == 1
        assert page.locator("#sentence").count() == 0
        links = page.eval_on_selector_all(
            "a[href], link[href], script[src]", "all => all.map(node => node.href || node.src)"
        )
        for link in links:
            assert link.startswith(("file://", "https://")), link
            if link.startswith("file://"):
                name = link.partition("#")[0].partition("?")[0].removeprefix(site.as_uri() + "/")
                assert (site / name).is_file(), link


def test_steps_figures_and_numbers_are_there(copied: Any):
    page = copied.page
    copied.complete()
    for index, step in enumerate(LESSON.steps):
        copied.to_step(index)
        copied.until("i => kv.page.steps.active === i", index)
        copied.until("probe.drawn()")
        assert page.locator(".stage-status").inner_text().endswith("."), step.id
    assert page.locator("[data-output]").inner_text() == record(DEFAULT_SENTENCE).sentence
    assert page.evaluate("document.fonts.check('16px \"Source Serif\"')")
    assert page.evaluate("[...document.fonts].some(face => face.status === 'loaded')")


def test_controls_tables_and_questions_work(copied: Any):
    page = copied.page
    copied.to_step(2)
    before = page.evaluate("probe.picture()")
    page.locator(".stage-controls input[name=cached]").click()
    assert page.evaluate("probe.picture()") != before
    page.locator(".stage-more summary").click()
    page.locator(".stage-table tbody tr").first.wait_for()
    page.locator(".stage-code pre").first.wait_for()
    question = page.locator("form.question").first
    question.locator("input").first.check()
    question.locator("button").click()
    assert question.locator(".verdict").inner_text().strip()


def test_the_chart_is_drawn_and_follows_its_slider(copied: Any):
    page = copied.page
    copied.to_step(3)
    copied.until("() => kv.page.stage.chart?.dataset.drawn")
    said = page.locator(".stage-status").inner_text()
    page.locator(".stage-controls input[name=prompt]").fill("0")
    assert page.locator(".stage-status").inner_text() != said
    assert page.locator(".chart canvas, .chart .bk-Figure").count() > 0


def test_the_reader_is_told_what_a_copy_cannot_do(copied: Any):
    assert "no server" in copied.page.locator(".sentence-note").inner_text()


def test_a_deep_link_and_the_way_between_pages_work(site: Path, read: Callable[..., Any]):
    one = read(base=site.as_uri() + "/", offline=True)
    page = one.open(f"{file_of(LESSON.path)}?head=2#{LESSON.steps[7].id}", live=False)
    one.until("() => kv.page.steps.active === 7")
    assert page.evaluate("kv.page.stage.params.head") == 1
    one.to_step(4)
    one.until("id => location.hash === '#' + id", LESSON.steps[4].id)
    page.locator("a.brand").click()
    page.wait_for_url(re.compile(r"/index\.html\?head=2$"))
    page.locator(".card").first.click()
    page.wait_for_url(re.compile(re.escape(f"/{file_of(LESSON.path)}?head=2") + "$"))


def test_a_folder_in_use_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine.txt").write_text("keep")
    assert main(["export", str(tmp_path)]) == 2
    assert "1 files or folders, not 0" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "mine.txt")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
