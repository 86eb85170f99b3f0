"""Every page: which template, which words, which figures. HTML is rendered once a process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from bokeh.embed import json_item

from app import asked, calculator, glossary, lab, prose, real_model
from app.blocks import Block, parse
from app.figure_specs import scripts, specs
from app.lessons import Lesson, load_lessons
from app.paths import CONTENT
from app.runs import DEFAULT_SENTENCE, EXAMPLES, PARTS, run_of
from figures import FIGURES
from figures.growth import growth_plot
from figures.weights import projections

PART_OF = {
    "rows-move": "extras",
    "one-step": "extras",
    "prefill": "extras",
    "proof": "extras",
    "head-wiring": "heads",
    "variant-words": "variants",
    "grouping-work": "heads",
    "mla": "latent",
    "quantised": "stored",
    "pattern-words": "patterns",
    "online-softmax": "online",
    "eviction": "kept",
    "speculation": "drafted",
    "beams": "beams",
}


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
    tools = ({**_front(name), "path": path, "number": ""} for path, name in TOOLS.items())
    return (start, *lessons, *tools)


# Pages of their own after the lessons: address, and the content file that names them.
TOOLS = {
    "/calculator": "calculator.md",
    "/model": "model.md",
    "/break-it": "break-it.md",
    "/questions": asked.FILE,
    "/glossary": glossary.FILE,
}


def _front(name: str) -> dict[str, str]:
    options = content(name).options
    return {"title": options["title"], "summary": options["summary"]}


@cache
def content(name: str) -> Block:
    """A content file that is not a lesson, parsed."""
    return parse((CONTENT / name).read_text(encoding="utf-8"), name)


def _words(name: str) -> dict[str, str]:
    """Title, introduction and body of a content file that is not a lesson."""
    root = content(name)
    return {
        "title": root.options["title"],
        "intro_html": prose.render(root.text),
        "body_html": prose.render("\n\n".join(block.text for block in root.of_kind("body"))),
    }


def build(path: str) -> Page:
    return pages()[path]()


@cache
def pages() -> dict[str, Callable[[], Page]]:
    lessons = {lesson.path: _lesson_builder(lesson) for lesson in load_lessons()}
    tools = {
        "/calculator": cache(_calculator),
        "/model": cache(_model),
        "/break-it": cache(_break_it),
        "/questions": cache(_questions),
        "/glossary": cache(_glossary),
    }
    return {"/": cache(_start), **lessons, **tools, "/gallery": cache(_gallery)}


def _render(template: str, path: str, figures: tuple[str, ...], **words: Any) -> str:
    run = run_of(DEFAULT_SENTENCE) if figures else None
    html = prose.TEMPLATES.get_template(template).render(
        here=path,
        nav=navigation(),
        with_sentence=words.pop("with_sentence", bool(figures)),
        default_text=DEFAULT_SENTENCE,
        examples=EXAMPLES,
        figure_specs=specs(figures),
        default_run=run,
        weights=projections() if figures else None,
        parts={
            part: PARTS[part](DEFAULT_SENTENCE)
            for part in dict.fromkeys(PART_OF[name] for name in figures if name in PART_OF)
        },
        **words,
    )
    return prose.with_live(html, run["live"]) if run else html


def _start() -> Page:
    shown = ("append",)
    words = _words("start.md")
    html = _render("start.html", "/", shown, start=words)
    return Page("/", words["title"], _front("start.md")["summary"], html, tuple(scripts(shown)))


def _calculator() -> Page:
    words, path = _words("calculator.md"), "/calculator"
    offered = calculator.options()
    html = _render(
        "calculator.html",
        path,
        (),
        words=words,
        options=offered,
        plot=json_item(growth_plot()),
        first=calculator.FIRST_MODEL,
        initial=calculator.calculate(json.dumps({"models": [calculator.FIRST_MODEL]})),
        complaints=calculator.complaints(),
    )
    summary = _front("calculator.md")["summary"]
    return Page(path, words["title"], summary, html, tuple(scripts((), "calculator")))


def _model() -> Page:
    words, path = _words("model.md"), "/model"
    html = _render(
        "model.html",
        path,
        (),
        words=words,
        installed=real_model.installed(),
        how=real_model.HOW_TO_GET_IT,
        formats=real_model.FORMATS,
        limits={"cached": real_model.MAX_TOKENS, "uncached": real_model.MAX_TOKENS_UNCACHED},
        prompt="A key-value cache is",
    )
    summary = _front("model.md")["summary"]
    return Page(path, words["title"], summary, html, tuple(scripts((), "model")))


def _break_it() -> Page:
    words, path, shown = _words("break-it.md"), "/break-it", ("bug-trace",)
    bugs = lab.bugs()
    html = _render(
        "break-it.html",
        path,
        shown,
        words=words,
        bugs=bugs,
        lesson_data=lab.steps(bugs),
        with_sentence=False,
    )
    summary = _front("break-it.md")["summary"]
    return Page(path, words["title"], summary, html, tuple(scripts(shown)))


def _questions() -> Page:
    words, path = _words(asked.FILE), "/questions"
    html = _render(
        "questions.html", path, (), words=words, asked=asked.answers(), mixed=list(asked.mixed())
    )
    return Page(path, words["title"], _front(asked.FILE)["summary"], html, tuple(scripts(())))


def _glossary() -> Page:
    words, path = _words(glossary.FILE), "/glossary"
    used = lessons_that_use()
    letters = {
        letter: [
            {
                "slug": entry.slug,
                "term": entry.term,
                "html": prose.render_inline(entry.text),
                "used": used.get(entry.slug, ()),
            }
            for entry in entries
        ]
        for letter, entries in glossary.by_letter().items()
    }
    html = _render("glossary.html", path, (), words=words, letters=letters)
    return Page(path, words["title"], _front(glossary.FILE)["summary"], html, tuple(scripts(())))


def lessons_that_use() -> dict[str, list[dict[str, str]]]:
    """By the slug of a term: the first step of each lesson that links to it."""
    used: dict[str, list[dict[str, str]]] = {}
    for lesson in load_lessons():
        told = {"path": lesson.path, "title": f"lesson {lesson.number}"}
        places = [(lesson.intro_html, lesson.path)]
        places += [(step.html, f"{lesson.path}#{step.id}") for step in lesson.steps]
        for html, path in reversed(places):
            for slug in prose.terms(html):
                rest = [one for one in used.get(slug, []) if one["title"] != told["title"]]
                used[slug] = [*rest, {**told, "path": path}]
    return used


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
        breaks=lab.breaks(),
        next_lesson=following[0] if following else None,
    )
    return Page(lesson.path, lesson.title, lesson.summary, html, tuple(scripts(lesson.figures)))


def _gallery() -> Page:
    shown = tuple(FIGURES)
    html = _render("gallery.html", "/gallery", shown, entries=list(specs(shown).values()))
    title = "Gallery of figures"
    return Page("/gallery", title, "Every figure alone.", html, tuple(scripts(shown, "gallery")))
