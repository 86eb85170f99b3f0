"""The page of questions: what people ask, answered; and what the lessons ask, mixed."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from app import prose
from app.blocks import ContentError, parse
from app.lab import lesson_places
from app.lessons import Question, load_lessons
from app.paths import CONTENT

FILE = "questions.md"


def answers() -> list[dict[str, Any]]:
    """Every question people ask, with its answer and the lesson steps where it arises."""
    root = parse((CONTENT / FILE).read_text(encoding="utf-8"), FILE)
    places = lesson_places()
    shown = []
    for block in root.of_kind("asked"):
        title, _, text = block.text.partition("\n")
        if not title.startswith("## "):
            raise ContentError(f"{FILE}: {block.name!r} must begin with a '## ' title")
        named = block.options.get("places", ())
        shown.append(
            {
                "id": block.name,
                "title": title.removeprefix("## "),
                "html": prose.render(text),
                "named": named,
                "places": [places[name] for name in named if name in places],
            }
        )
    return shown


def mixed() -> Iterator[dict[str, Any]]:
    """One question of each lesson in turn, so that neighbours are not about the same thing."""
    lessons = load_lessons()
    for row in zip_longest(*(lesson.questions for lesson in lessons)):
        for lesson, question in zip(lessons, row, strict=True):
            if question is not None:
                yield {
                    "question": renamed(question, lesson.slug),
                    "lesson": f"lesson {lesson.number}, {lesson.title}",
                    "path": f"{lesson.path}#{question.id}",
                }


def renamed(question: Question, slug: str) -> Question:
    """Ids are unique in a lesson; on a page of all lessons they carry its name."""
    return replace(question, id=f"{slug}-{question.id}")
