"""Content files in, lessons out. Which words the content syntax has is decided here alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app import prose
from app.blocks import Block, ContentError, parse
from app.paths import CONTENT
from model.facts import fact


@dataclass(frozen=True)
class Try:
    """A prompt that puts the figure into a state and says what to look for."""

    html: str
    figure_params: Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """Predict, then reveal. ``answer`` is the key of an option, computed, never typed in."""

    id: str
    html: str
    options: Mapping[str, str]
    answer: str
    reason_html: str


@dataclass(frozen=True)
class Step:
    """One place in a lesson: its words and the state of the figure beside them."""

    id: str
    title: str
    html: str
    figure: str
    figure_params: Mapping[str, Any]
    tries: tuple[Try, ...]
    questions: tuple[Question, ...]
    n_words: int


@dataclass(frozen=True)
class Lesson:
    slug: str
    number: str
    title: str
    summary: str
    intro_html: str
    steps: tuple[Step, ...]
    closing: tuple[Question, ...]

    @property
    def path(self) -> str:
        return f"/lesson/{self.slug}"

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.figure for step in self.steps))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (*(q for step in self.steps for q in step.questions), *self.closing)


@cache
def load_lessons() -> tuple[Lesson, ...]:
    """All lessons in reading order (files are numbered by tens); parsed once a process."""
    return tuple(load_lesson(path) for path in sorted(CONTENT.glob("[0-9]*.md")))


def load_lesson(path: Path) -> Lesson:
    """Read one lesson.

    Raises
    ------
    ContentError
        The file does not parse, a key is missing, or a computed answer is not among the options.
    """
    root = parse(path.read_text(encoding="utf-8"), path.name)
    try:
        return Lesson(
            slug=root.options["slug"],
            number=str(root.options["number"]),
            title=root.options["title"],
            summary=root.options["summary"],
            intro_html=prose.render(root.text),
            steps=tuple(_step(block) for block in root.of_kind("step")),
            closing=tuple(_question(block) for block in root.of_kind("question")),
        )
    except KeyError as missing:
        raise ContentError(f"{path.name}: {missing} is missing") from missing


def _step(block: Block) -> Step:
    params = dict(block.options)
    title, _, text = block.text.partition("\n")
    if not title.startswith("## "):
        raise ContentError(f"step {block.name!r} must begin with a '## ' title")
    return Step(
        id=block.name,
        title=title.removeprefix("## "),
        html=prose.render(text),
        figure=params.pop("figure"),
        figure_params=params,
        tries=tuple(Try(prose.render_inline(b.text), b.options) for b in block.of_kind("try")),
        questions=tuple(_question(b) for b in block.of_kind("question")),
        n_words=len(text.split()),
    )


def _question(block: Block) -> Question:
    """``- key: text`` lines are the options; what follows them is the reason."""
    asked, _, rest = block.text.partition("\n- ")
    lines = rest.splitlines()
    end = next((i for i, line in enumerate(lines[1:], 1) if not line.startswith("- ")), len(lines))
    pairs = (line.removeprefix("- ").partition(": ") for line in lines[:end])
    options = {key.strip(): text for key, _, text in pairs}
    answer = fact(block.options["answer"]).text
    key = next((k for k, text in options.items() if answer in (k, prose.plain(text))), None)
    if key is None:
        raise ContentError(f"question {block.name!r}: the computed answer {answer!r} is no option")
    return Question(
        id=block.name,
        html=prose.render(asked),
        options={k: prose.render_inline(prose.plain(text)) for k, text in options.items()},
        answer=key,
        reason_html=prose.render("\n".join(lines[end:])),
    )
