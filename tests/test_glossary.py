"""Every term that is linked has an entry, and every entry, question and bug leads somewhere."""

import re
from pathlib import Path

import pytest

from app import asked, glossary
from app.blocks import parse
from app.lab import lesson_places
from app.lessons import load_lessons
from app.pages import build, lessons_that_use
from app.paths import CONTENT
from app.prose import TERM, render, short, terms
from figures.bug_trace import N_BUGS, outcomes
from model.bugs.catalogue import BUGS

FILES = sorted(path for path in CONTENT.glob("*.md") if path.name != "README.md")
LESSONS = {lesson.slug: lesson for lesson in load_lessons()}
FIRST = "the-cache-step-by-step"
SECTION = r'<section class="step" id="([a-z0-9-]+)"(.*?)</section>'
FEWEST_TERMS, MOST_SENTENCES, ASKED, FEWEST_LINKS = 45, 3, 20, 15


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_term_that_is_linked_has_an_entry(path: Path):
    linked = terms(render(path.read_text(encoding="utf-8").split("---\n", 2)[2]))
    assert sorted(set(linked) - set(glossary.entries())) == []


def test_every_term_is_linked_from_a_lesson():
    """An entry that no lesson links to is one that nobody is led to when the word comes up."""
    assert sorted(set(glossary.entries()) - set(lessons_that_use())) == []


@pytest.mark.parametrize("slug", LESSONS)
def test_every_lesson_links_the_terms_it_uses(slug: str):
    assert len({term for step in LESSONS[slug].steps for term in terms(step.html)}) >= FEWEST_LINKS


def test_a_linked_term_tells_its_meaning_where_it_stands():
    entry = glossary.entries()["key"]
    assert f'data-tip="Key: {entry.text}"' in render("A [[key]], two [[keys|key]].")


def test_entries_are_short_and_told_apart():
    entries = glossary.entries()
    assert len(entries) >= FEWEST_TERMS
    for slug, entry in entries.items():
        sentences = re.findall(r"[.?!](?=\s|$)", entry.text)
        assert 1 <= len(sentences) <= MOST_SENTENCES, slug
        assert entry.text.endswith("."), slug
    assert len({entry.text for entry in entries.values()}) == len(entries)


def test_every_entry_is_on_the_page_with_the_lessons_that_use_it():
    body = build("/glossary").body
    assert all(f'id="{slug}"' in body for slug in glossary.entries())
    for uses in lessons_that_use().values():
        assert all(f'href="{use["path"]}"' in body for use in uses)


def test_the_page_is_sorted_by_name_and_every_letter_on_it_can_be_jumped_to():
    body = build("/glossary").body
    names = re.findall(r"<dt>(.*?)</dt>", body)
    assert len(names) == len(glossary.entries())
    assert names == sorted(names, key=glossary.slugify)
    index = re.search(r'<nav class="letters".*?</nav>', body).group()  # pyright: ignore[reportOptionalMemberAccess]
    assert re.findall(r'href="#(.*?)"', index) == re.findall(r'<h2 class="letter" id="(.*?)"', body)
    assert re.findall(r">([A-Z])<", index) == sorted({name[0].upper() for name in names})


def test_lesson_1_links_the_terms_it_introduces_once_each():
    linked = [slug for step in LESSONS[FIRST].steps for slug in terms(step.html)]
    assert len(set(linked)) == len(linked)
    needed = {"decoder", "causal-mask", "key", "value", "query", "kv-cache", "prefill", "logits"}
    assert needed <= set(linked)


def test_no_term_is_written_with_a_bracket_that_is_no_link():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("[[") == len(TERM.findall(text)), path.name


def test_twenty_questions_are_answered_where_they_arise():
    answers = asked.answers()
    assert len(answers) == ASKED == len({one["id"] for one in answers})
    body = build("/questions").body
    for one in answers:
        assert f'id="{one["id"]}"' in body
        assert one["named"]
        assert_places_exist(one["named"])


def assert_places_exist(named: list[str]) -> None:
    """A lesson that is here has the step; a lesson still to come has no steps to name."""
    missing = [n for n in named if n.partition("#")[0] in LESSONS and n not in lesson_places()]
    assert missing == []


def test_every_question_of_every_lesson_is_asked_again_under_a_name_of_its_own():
    shown = list(asked.mixed())
    assert len(shown) == sum(len(lesson.questions) for lesson in LESSONS.values())
    ids = [one["question"].id for one in shown]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & {one["id"] for one in asked.answers()}


def test_every_bug_is_on_its_page_with_both_sources_and_its_numbers():
    body = build("/break-it").body
    assert len(BUGS) == N_BUGS == len(outcomes())
    for name, bug in BUGS.items():
        assert f'id="{name}"' in body
        assert bug.source in body
        assert bug.caught_by in body
    assert body.count('<figure class="code wrong">') == N_BUGS


@pytest.mark.parametrize("slug", LESSONS)
def test_bugs_and_steps_of_a_lesson_point_at_each_other(slug: str):
    """A step links to exactly the bugs whose record names it, and each of them links back."""
    sections = re.findall(SECTION, build(LESSONS[slug].path).body, re.DOTALL)
    assert [step for step, _ in sections] == [step.id for step in LESSONS[slug].steps]
    lab_page = build("/break-it").body
    for step, html in sections:
        named = [name for name, bug in BUGS.items() if bug.step == f"{slug}#{step}"]
        assert re.findall(r'href="/break-it#([a-z0-9-]+)"', html) == named
        for name in named:
            assert f'id="{name}"' in lab_page
            assert f'href="{LESSONS[slug].path}#{step}"' in lab_page


def test_every_bug_names_a_step_there_is():
    assert_places_exist([bug.step for bug in BUGS.values()])
    assert {bug.step.partition("#")[0] for bug in BUGS.values()} == set(LESSONS)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12, "12"),
        (8192, "8,192"),
        (0.0, "0"),
        (1.25, "1.25"),
        (2e-16, "2.0 · 10⁻¹⁶"),
        (-0.5, "−0.5"),
        (1098.4, "1,098"),
        ("a", "a"),
    ],
)
def test_measured_numbers_are_short(number: float | str, text: str):
    assert short(number) == text


def test_a_content_file_of_questions_parses_to_nothing_else():
    root = parse((CONTENT / asked.FILE).read_text(encoding="utf-8"), asked.FILE)
    assert {block.kind for block in root.blocks} == {"asked"}
