"""What the page of the bug lab shows of each bug: words, numbers, both sources, its lesson step."""

from typing import Any

from app.lessons import load_lessons
from app.source import source_of
from model.bugs.bug import Bug
from model.bugs.catalogue import BUGS
from model.bugs.run import run_bug


def bugs() -> list[dict[str, Any]]:
    """Every bug in the order of the page, run once a process."""
    places = lesson_places()
    return [told(bug, places) for bug in BUGS.values()]


def told(bug: Bug, places: dict[str, dict[str, str]]) -> dict[str, Any]:
    return {
        "id": bug.id,
        "title": bug.title,
        "story": bug.story,
        "source": bug.source,
        "fix": bug.fix,
        "seam": bug.seam,
        "caught_by": bug.caught_by,
        "right": source_of(bug.right_shown),
        "twin": source_of(bug.twin),
        "outcome": run_bug(bug.id),
        "lesson": places.get(bug.step),
    }


def lesson_places() -> dict[str, dict[str, str]]:
    """Every lesson step that a bug can point to, by "slug#step"."""
    return {
        f"{lesson.slug}#{step.id}": {
            "path": f"{lesson.path}#{step.id}",
            "title": f"lesson {lesson.number}, “{step.title}”",
        }
        for lesson in load_lessons()
        for step in lesson.steps
    }


def breaks() -> dict[str, list[dict[str, str]]]:
    """What goes wrong at a lesson's step, by "slug#step": read from the bugs' own records."""
    found: dict[str, list[dict[str, str]]] = {}
    for bug in BUGS.values():
        found.setdefault(bug.step, []).append({"path": f"/break-it#{bug.id}", "title": bug.title})
    return found


def steps(shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe the bugs as a lesson's steps, which is what the page scrolls through."""
    return {
        "slug": "break-it",
        "steps": [
            {
                "id": one["id"],
                "title": one["title"],
                "figure": "bug-trace",
                "params": {"bug": index, "on": True},
            }
            for index, one in enumerate(shown)
        ],
    }
