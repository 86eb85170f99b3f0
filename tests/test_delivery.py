"""Messages that had to wait are sent, in whatever order the writer's tasks end."""

import asyncio
from typing import Any

import pytest
from bokeh.document import Document
from panel.io import document as panel_document

from app import delivery

TASK = "_dispatch_msgs"


class Connection:
    """One reader's; all that is asked of it is its socket."""

    _socket = object()


def queue(doc: Document, connection: Any, message: Any) -> "asyncio.Task[None]":
    """What Panel does when it cannot send at once."""
    panel_document._WRITE_BLOCK[doc] = True
    panel_document._WRITE_MSGS.setdefault(doc, {}).setdefault(connection, []).append(message)
    return asyncio.ensure_future(getattr(panel_document, TASK)(doc))


async def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Queue a message just when the writing of another ends; what was written in the end."""
    written: list[str] = []
    tasks: list[asyncio.Task[None]] = []
    doc, connection = Document(), Connection()

    def write(_connection: Any, msg: str, **_: Any) -> list["asyncio.Future[None]"]:
        written.append(msg)
        ends = asyncio.get_running_loop().create_future()
        if msg == "first":
            ends.add_done_callback(lambda _: tasks.append(queue(doc, connection, "second")))
        asyncio.get_running_loop().call_soon(ends.set_result, None)
        return [ends]

    monkeypatch.setattr(panel_document, "dispatch_django", write)
    await queue(doc, connection, "first")
    await asyncio.gather(*tasks)
    return written


def test_a_message_queued_while_another_is_written_is_written_too(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(panel_document, TASK, getattr(panel_document, TASK))
    delivery.install()
    assert asyncio.run(sent(monkeypatch)) == ["first", "second"]
