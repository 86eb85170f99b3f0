"""Only questions reach a document, and no log or reply tells what a reader typed."""

import json
import logging

import pytest

from app import guard
from app.logs import OneLine, worth_keeping

QUESTION = {"kind": "ModelChanged", "model": {"id": "p1"}, "attr": "ask", "new": {}}
READY = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"name": "document_ready"}}


@pytest.mark.parametrize("event", [QUESTION, READY])
def test_what_the_page_sends_is_accepted(event: dict[str, object]):
    assert guard.accepted(event)


@pytest.mark.parametrize(
    "event",
    [
        {**QUESTION, "attr": "reply"},
        {**QUESTION, "attr": "esm"},
        {**QUESTION, "attr": ["ask"]},
        {"kind": "RootAdded", "model": {"type": "object", "name": "Div"}},
        {"kind": "TitleChanged", "title": "mine"},
        {"kind": "ColumnDataChanged", "model": {"id": "p1"}, "data": {}},
        {"kind": "MessageSent", "msg_data": {"name": "button_click"}},
        {"kind": "MessageSent", "msg_data": "document_ready"},
        {},
        "ModelChanged",
        None,
        7,
    ],
)
def test_anything_else_is_refused(event: object):
    assert not guard.accepted(event)


def record_of(logger: str, message: str, level: int = logging.ERROR) -> logging.LogRecord:
    error = ValueError(message)
    told = (ValueError, error, None)
    return logging.LogRecord(logger, level, __file__, 12, message, (), told)


@pytest.mark.parametrize("logger", ["bokeh.server.views.ws", "tornado.access", "panel.io", "root"])
def test_other_libraries_words_are_not_logged(logger: str):
    line = OneLine().format(record_of(logger, "a reader's secret sentence"))
    assert "secret" not in line
    assert json.loads(line)["error"] == "ValueError"
    assert json.loads(line)["event"].startswith(logger)


def test_our_own_events_are_one_json_line():
    told = json.loads(OneLine().format(record_of("kvscroll", "started", logging.INFO)))
    assert (told["event"], told["level"]) == ("started", "info")
    assert told["time"].endswith("Z")


def test_chatter_of_other_libraries_is_dropped():
    assert not worth_keeping(record_of("panel.io.server", "session made", logging.INFO))
    assert worth_keeping(record_of("kvscroll", "started", logging.INFO))
