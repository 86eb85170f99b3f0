"""The lessons are tested like code: they parse, and say only what the figures can show."""

import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app import prose
from app.blocks import Block, ContentError, parse
from app.lessons import Lesson, Step, load_lessons
from app.pages import build, pages
from app.paths import CONTENT
from figures import FIGURES
from figures.base import schema
from figures.recording import live
from model import facts
from model.toy.record import record

LESSONS = load_lessons()
FILES = sorted(path for path in CONTENT.glob("*.md") if path.name != "README.md")
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
every_page = pytest.mark.parametrize("path", list(pages()))

FEWEST_WORDS, MOST_WORDS = 40, 120
FEWEST_QUESTIONS = 6


def blocks(block: Block) -> Iterator[Block]:
    yield block
    for inner in block.blocks:
        yield from blocks(inner)


def accepts(told: Mapping[str, Any], value: Any) -> bool:
    """Whether a param, as the browser is told of it, may have this value."""
    if told["kind"] == "time":
        return value in ("first", "last") or (type(value) is int and value >= 0)
    if told["kind"] == "range":
        return value in ("first", "last") or (
            type(value) is int and told["low"] <= value <= told["high"]
        )
    if told["kind"] == "toggle":
        return type(value) is bool
    return str(value) in [str(option) for option in told["options"]]


def states(lesson: Lesson) -> Iterator[tuple[Step, Mapping[str, Any]]]:
    for step in lesson.steps:
        yield step, step.figure_params
        for one in step.tries:
            yield step, one.figure_params


@every_lesson
def test_every_state_named_is_one_the_figure_can_be_in(lesson: Lesson):
    for step, params in states(lesson):
        told = {one["name"]: one for one in schema(FIGURES[step.figure])}
        for name, value in params.items():
            assert name in told, f"{step.id}: {step.figure} has no param {name}"
            assert accepts(told[name], value), f"{step.id}: {name} cannot be {value!r}"


@every_lesson
def test_steps_are_absolute(lesson: Lesson):
    """Steps that share a figure name the same params, so it looks the same from both sides."""
    named = defaultdict(set)
    for step in lesson.steps:
        named[step.figure].add(frozenset(step.figure_params))
    assert {figure: len(sets) for figure, sets in named.items()} == dict.fromkeys(named, 1)


@every_lesson
def test_every_try_changes_the_state_of_its_step(lesson: Lesson):
    for step in lesson.steps:
        for one in step.tries:
            assert one.figure_params
            assert dict(step.figure_params) != {**step.figure_params, **one.figure_params}


@every_lesson
def test_every_step_has_a_title_and_as_many_words_as_a_reader_takes_in(lesson: Lesson):
    for step in lesson.steps:
        assert step.title.strip()
        assert FEWEST_WORDS <= step.n_words <= MOST_WORDS, f"{step.id}: {step.n_words} words"


@every_lesson
def test_names_in_a_lesson_are_deep_links_and_so_unique(lesson: Lesson):
    names = [step.id for step in lesson.steps] + [q.id for q in lesson.questions]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


@every_lesson
def test_every_lesson_asks_and_can_mark(lesson: Lesson):
    assert len(lesson.questions) >= FEWEST_QUESTIONS
    for question in lesson.questions:
        assert question.answer in question.options
        assert len(question.options) >= 2
        assert len(set(question.options.values())) == len(question.options), question.id
        assert question.reason_html.strip(), f"{question.id} does not say why"


@every_lesson
def test_the_right_answer_is_not_always_in_the_same_place(lesson: Lesson):
    places = {list(q.options).index(q.answer) for q in lesson.questions}
    assert len(places) > 1


def test_lessons_are_told_apart():
    assert len({lesson.slug for lesson in LESSONS}) == len(LESSONS)
    assert len({lesson.number for lesson in LESSONS}) == len(LESSONS)
    assert len({lesson.title for lesson in LESSONS}) == len(LESSONS)


@every_file
def test_every_number_quoted_is_computed(path: Path):
    text = path.read_text(encoding="utf-8")
    assert sorted(prose.quoted(text) - facts.names()) == []
    told = live(record("the cat sees a bird"))
    assert set(re.findall(r"\{\{\s*live\.([a-z0-9-]+)", text)) <= told.keys()


def test_every_fact_is_quoted_an_answer_or_called_by_code():
    """A fact nobody quotes is a number nobody checks. A module may list others in `API`."""
    used = set()
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        used |= prose.quoted(text)
        used |= {str(block.options.get("answer", "")) for block in blocks(parse(text, path.name))}
    for module in facts.MODULES:
        used |= set(getattr(importlib.import_module(f"model.facts.{module}"), "API", ()))
    assert sorted(facts.names() - used) == []


@every_page
def test_no_quote_or_block_is_left_raw_on_a_page(path: str):
    words = re.sub(r"<script.*?</script>|<pre.*?</pre>", "", build(path).body, flags=re.DOTALL)
    assert re.findall(r"\{\{.{0,40}|\[\[.{0,40}|^:::.*", words, flags=re.MULTILINE) == []


@every_page
def test_every_inner_link_leads_somewhere(path: str):
    body = build(path).body
    for target in set(re.findall(r'href="([^"]+)"', body)):
        if target.startswith("https://"):  # a source a reader may look up; nothing is fetched
            continue
        address, _, anchor = target.partition("#")
        address = address.partition("?")[0] or path
        assert address in pages() or address.startswith("/assets/"), f"{path} links to {target}"
        if anchor and address in pages():
            assert f'id="{anchor}"' in build(address).body, f"{path} links to {target}"


@pytest.mark.parametrize(
    "text",
    [
        "no front matter",
        "---\nslug: a\n---\n::: step x {figure: append}\n## Never closed\n",
        "---\nslug: a\n---\n:::\n",
        "---\nslug: a\n---\n::: Step X\n:::\n",
    ],
    ids=["front matter", "unclosed", "nothing open", "unreadable fence"],
)
def test_a_file_that_does_not_parse_names_itself(text: str):
    with pytest.raises(ContentError, match=r"broken\.md"):
        parse(text, "broken.md")
