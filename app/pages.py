"""Every page: which template, which words, which figures. HTML is rendered once a process."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from app import prose
from app.blocks import parse
from app.figure_specs import scripts, specs
from app.lessons import Lesson, load_lessons
from app.paths import CONTENT
from app.runs import DEFAULT_SENTENCE, EXAMPLES, PARTS, run_of
from figures import FIGURES
from figures.weights import projections

PART_OF = {"rows-move": "extras", "one-step": "extras", "prefill": "extras", "proof": "extras"}


@dataclass(frozen=True)
class Page:
    path: str
    title: str
    description: str
    body: str
    scripts: tuple[str, ...]


@cache
def navigation() -> tuple[dict[str, str], ...]:
    """Where a reader can go, in reading order."""
    start = {"path": "/", "title": "Start", "number": "", "summary": ""}
    lessons = (
        {"path": one.path, "title": one.title, "number": one.number, "summary": one.summary}
        for one in load_lessons()
    )
    return (start, *lessons)


def build(path: str) -> Page:
    return pages()[path]()


@cache
def pages() -> dict[str, Callable[[], Page]]:
    lessons = {lesson.path: _lesson_builder(lesson) for lesson in load_lessons()}
    return {"/": cache(_start), **lessons, "/gallery": cache(_gallery)}


def _render(template: str, path: str, figures: tuple[str, ...], **words: Any) -> str:
    return prose.TEMPLATES.get_template(template).render(
        here=path,
        nav=navigation(),
        with_sentence=bool(figures),
        default_text=DEFAULT_SENTENCE,
        examples=EXAMPLES,
        figure_specs=specs(figures),
        default_run=run_of(DEFAULT_SENTENCE) if figures else None,
        weights=projections() if figures else None,
        parts={
            part: PARTS[part](DEFAULT_SENTENCE)
            for part in dict.fromkeys(PART_OF[name] for name in figures if name in PART_OF)
        },
        **words,
    )


def _start() -> Page:
    root = parse((CONTENT / "start.md").read_text(encoding="utf-8"), "start.md")
    shown = ("append",)
    body = next(root.of_kind("body"))
    words = {
        "title": root.options["title"],
        "intro_html": prose.render(root.text),
        "body_html": prose.render(body.text),
    }
    html = _render("start.html", "/", shown, start=words)
    return Page("/", root.options["title"], root.options["summary"], html, tuple(scripts(shown)))


def _lesson_builder(lesson: Lesson) -> Callable[[], Page]:
    return cache(lambda: _lesson(lesson))


def _lesson(lesson: Lesson) -> Page:
    order = load_lessons()
    following = order[order.index(lesson) + 1 : order.index(lesson) + 2]
    data = {
        "slug": lesson.slug,
        "steps": [
            {"id": s.id, "title": s.title, "figure": s.figure, "params": dict(s.figure_params)}
            for s in lesson.steps
        ],
    }
    html = _render(
        "lesson.html",
        lesson.path,
        lesson.figures,
        lesson=lesson,
        lesson_data=data,
        next_lesson=following[0] if following else None,
    )
    return Page(lesson.path, lesson.title, lesson.summary, html, tuple(scripts(lesson.figures)))


def _gallery() -> Page:
    shown = tuple(FIGURES)
    html = _render("gallery.html", "/gallery", shown, entries=list(specs(shown).values()))
    title = "Gallery of figures"
    return Page("/gallery", title, "Every figure alone.", html, tuple(scripts(shown)))
