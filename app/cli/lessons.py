"""List what the page teaches: lessons, their steps, and the figure beside each step."""

import argparse
import json
from typing import Any

from app.lessons import Lesson, load_lessons


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON alone")


def run(args: argparse.Namespace) -> int:
    lessons = load_lessons()
    if args.json:
        print(json.dumps({"lessons": [overview(lesson) for lesson in lessons]}))
    else:
        print("\n\n".join(listing(lesson) for lesson in lessons))
    return 0


def overview(lesson: Lesson) -> dict[str, Any]:
    return {
        "slug": lesson.slug,
        "number": lesson.number,
        "title": lesson.title,
        "summary": lesson.summary,
        "path": lesson.path,
        "n_questions": len(lesson.questions),
        "steps": [
            {"id": step.id, "title": step.title, "figure": step.figure} for step in lesson.steps
        ],
    }


def listing(lesson: Lesson) -> str:
    width = max(len(step.title) for step in lesson.steps)
    steps = (f"  {step.title:{width}}  {step.figure}" for step in lesson.steps)
    return "\n".join([f"{lesson.number}. {lesson.title} ({lesson.path})", *steps])
