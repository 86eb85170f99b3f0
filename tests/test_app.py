"""Each wire is pulled once, without a browser: pages, replies, limits, commands."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import reader
from app.__main__ import main
from app.lessons import load_lessons
from app.pages import build, pages
from app.reader import BURST, RUNS_PER_SECOND, Allowance, Reader, answer
from app.runs import DEFAULT_SENTENCE, EXAMPLES, MAX_CHARS, PARTS, run_of

every_page = pytest.mark.parametrize("path", list(pages()))

HOSTILE = (
    "",
    "   \t\n",
    "word " * 10_000,
    "\x00\x01\x1b[31m",
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eright to left\u202c שלום مرحبا",
    "🍕👩‍👩‍👧‍👦🇫🇷" * 50,
    "a" * 100_000,
    "{{ live.n-steps }} [[term]] $x$",
    "ﷺ" * 300,
    "\ud83c",
)

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
messages = st.fixed_dictionaries(
    {},
    optional={"id": json_like, "part": json_like | st.sampled_from(list(PARTS)), "text": json_like},
)
typed = st.text(st.characters(codec=None), max_size=200) | st.sampled_from(HOSTILE)


@every_page
def test_every_page_has_words_without_a_script(path: str):
    page = build(path)
    assert page.title.strip()
    assert page.description.strip()
    assert page.body.count("<h1") == 1
    assert '<main id="main"' in page.body


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.slug)
def test_a_lesson_is_in_the_page_as_text(lesson: Any):
    body = blank(build(lesson.path).body)
    assert blank(lesson.intro_html) in body
    for step in lesson.steps:
        assert f'<section class="step" id="{step.id}"' in body
        assert blank(step.html) in body
    for question in lesson.questions:
        assert blank(question.reason_html) in body


def blank(html: str) -> str:
    """Leave out the numbers of a run: the words alone."""
    return re.sub(r'(<span class="live"[^>]*>)[^<]*', r"\1", html)


def test_pages_are_made_once_a_process():
    assert build("/") is build("/")


def well_formed(reply: dict[str, Any]) -> bool:
    json.dumps(reply, allow_nan=False)
    said = reply.get("message")
    is_line = isinstance(said, str) and bool(said.strip()) and "\n" not in said
    return isinstance(reply["id"], int) and (is_line or bool(reply.keys() & PARTS.keys()))


@given(json_like | messages)
def test_whatever_arrives_is_answered(ask: object):
    assert well_formed(answer(ask))


@given(typed, st.sampled_from(list(PARTS)))
def test_whatever_is_typed_is_answered_with_figures_or_a_line(text: str, part: str):
    assert well_formed(answer({"id": 7, "part": part, "text": text}))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("part", PARTS)
def test_hostile_text_is_a_line_or_a_run_for_every_part(part: str, text: str):
    assert well_formed(answer({"id": 1, "part": part, "text": text}))


def test_what_is_cut_off_cannot_matter():
    """A message longer than the limit is read to the limit, so its size buys nothing."""
    whole = "the cat sat " * 1_000
    assert answer({"id": 1, "part": "run", "text": whole}) == answer(
        {"id": 1, "part": "run", "text": whole[:MAX_CHARS]}
    )


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_is_read_whole(text: str):
    run = run_of(text)
    assert run["n_left"] == 0
    assert run["finished"]


def test_a_failure_inside_is_told_in_one_line_without_the_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(text: str) -> dict[str, Any]:
        raise RuntimeError(f"secret path and {text}")

    monkeypatch.setitem(PARTS, "run", broken)
    reply = answer({"id": 3, "part": "run", "text": "private words"})
    assert reply["id"] == 3
    assert "secret" not in reply["message"]
    assert "private" not in caplog.text


@given(st.lists(st.floats(0, 0.5), max_size=200))
def test_no_rhythm_of_asking_gets_more_than_the_allowance(pauses: list[float]):
    clock = [0.0]
    allowance = Allowance(clock=lambda: clock[0])
    taken = 0
    for pause in pauses:
        clock[0] += pause
        taken += allowance.wait() == 0
    assert taken <= BURST + RUNS_PER_SECOND * clock[0] + 1e-6


def flooded(n_asks: int, answer_with: Callable[[object], dict[str, Any]]) -> list[object]:
    """Set ``ask`` many times at once and return what was answered."""
    answered: list[object] = []

    def watch(ask: object, *_: object) -> dict[str, Any]:
        answered.append(ask)
        return answer_with(ask)

    async def flood() -> None:
        one = Reader()
        for i in range(n_asks):
            one.ask = {"id": i, "part": "run", "text": f"cat {i}"}
        await asyncio.sleep(3 / RUNS_PER_SECOND)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "answer", watch)
        asyncio.run(flood())
    return answered


def test_a_flood_is_answered_rarely_and_its_last_word_always():
    answered = flooded(500, lambda ask: {"id": ask["id"]})  # pyright: ignore[reportIndexIssue]
    assert len(answered) <= BURST + 3
    assert answered[-1] == {"id": 499, "part": "run", "text": "cat 499"}


def test_readers_share_no_state():
    one, other = Reader(), Reader()
    one.ask = {"id": 1, "part": "run", "text": "I love you"}
    assert one.reply["run"]["text"] == "I love you"
    assert other.reply == {}
    assert run_of(DEFAULT_SENTENCE)["text"] == DEFAULT_SENTENCE


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        [],
        ["serve", "--port", "99999"],
        ["serve", "--num-procs", "0"],
        ["lessons", "--surprise"],
        ["trace"],
    ],
    ids=" ".join,
)
def test_bad_words_on_the_command_line_get_one_line_and_status_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kvscroll: ")
    assert said.err.count("\n") == 1


def test_the_lessons_command_lists_every_step(capsys: pytest.CaptureFixture[str]):
    assert main(["lessons", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["lessons"]
    assert [one["slug"] for one in listed] == [lesson.slug for lesson in load_lessons()]
    for one, lesson in zip(listed, load_lessons(), strict=True):
        assert [(s["id"], s["figure"]) for s in one["steps"]] == [
            (s.id, s.figure) for s in lesson.steps
        ]
    assert main(["lessons"]) == 0
    plain = capsys.readouterr().out
    assert all(step.title in plain for lesson in load_lessons() for step in lesson.steps)
