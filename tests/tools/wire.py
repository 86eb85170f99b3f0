"""One reader without a browser: loads a page, speaks Bokeh's protocol over the websocket."""

import asyncio
import contextlib
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import (
    WebSocketClientConnection,
    WebSocketClosedError,
    websocket_connect,
)

LESSON = "/lesson/the-cache-step-by-step"
TOKEN = re.compile(r'"token":"([^"]+)"')
READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map"}},
}
MAX_REPLY_BYTES = 4_000_000


class WireError(RuntimeError):
    """The server did not behave as the protocol says."""


@dataclass
class Wire:
    """An open session. ``load_s`` is the time from the request to the whole document."""

    socket: WebSocketClientConnection
    model: str
    load_s: float
    asked: int = field(default=0)
    cookie: str = ""

    @classmethod
    async def open(cls, url: str, path: str = LESSON, cookie: str = "") -> "Wire":
        """Load a page and open its wire, with the cookie that keeps a reader at one process."""
        began = time.perf_counter()
        kept = {"Cookie": cookie} if cookie else {}
        page = await AsyncHTTPClient(max_clients=1000).fetch(
            url + path, request_timeout=60, headers=kept
        )
        if given := page.headers.get("Set-Cookie"):
            kept = {"Cookie": given.partition(";")[0]}
        token = TOKEN.search(page.body.decode())
        if token is None:
            raise WireError("the page carries no session token")
        request = HTTPRequest(
            url.replace("http", "ws", 1) + path.rstrip("/") + "/ws", headers={"Origin": url, **kept}
        )
        socket = await websocket_connect(
            request, subprotocols=["bokeh", token[1]], max_message_size=MAX_REPLY_BYTES
        )
        wire = cls(socket, "", 0.0, cookie=kept.get("Cookie", ""))
        await wire.receive()  # the server's greeting
        await wire.send("PULL-DOC-REQ", {})
        document = await wire.until("PULL-DOC-REPLY")
        wire.model = _asked_model(document)
        await wire.send("PATCH-DOC", {"events": [READY]})
        wire.load_s = time.perf_counter() - began
        return wire

    async def send(self, kind: str, content: object) -> None:
        for part in ({"msgid": uuid.uuid4().hex, "msgtype": kind}, {}, content):
            try:
                await self.socket.write_message(json.dumps(part))
            except WebSocketClosedError as error:
                raise WireError("the server closed the wire") from error

    async def receive(self) -> tuple[str, Any]:
        header = await self._text()
        await self._text()
        content = await self._text()
        return json.loads(header)["msgtype"], json.loads(content)

    async def _text(self) -> str:
        message = await self.socket.read_message()
        if message is None:
            raise WireError("the server closed the wire")
        return message if isinstance(message, str) else message.decode()

    async def until(self, kind: str) -> Any:
        while True:
            found, content = await self.receive()
            if found == kind:
                return content

    async def ask(self, text: str, part: str = "run") -> tuple[dict[str, Any], float]:
        """Send a sentence as the page does; the reply, and the seconds it took."""
        self.asked += 1
        began = time.perf_counter()
        entries = [["id", self.asked], ["part", part], ["text", text]]
        await self.patch("ask", {"type": "map", "entries": entries})
        while True:
            content = await self.until("PATCH-DOC")
            for reply in _replies(content):
                if reply.get("id") == self.asked:
                    return reply, time.perf_counter() - began

    @property
    def closed(self) -> tuple[int | None, str | None]:
        """The code and the reason with which the server closed the wire; None while it is open."""
        return self.socket.close_code, self.socket.close_reason

    async def patch(self, attr: str, new: object) -> None:
        event = {"kind": "ModelChanged", "model": {"id": self.model}, "attr": attr, "new": new}
        await self.send("PATCH-DOC", {"events": [event]})

    async def close(self) -> None:
        """Say goodbye and wait for the answer, so that nothing is left open behind us."""
        self.socket.close()
        with contextlib.suppress(TimeoutError):
            while await asyncio.wait_for(self.socket.read_message(), 2) is not None:
                pass


def _asked_model(node: Any) -> str:
    """The id of the model that holds the page's question, anywhere in the document."""
    if isinstance(node, dict):
        if node.get("class_name") == "Reader":
            return node["data"]["id"]
        children = list(node.values())
    else:
        children = node if isinstance(node, list) else []
    for child in children:
        if found := _asked_model(child):
            return found
    return ""


def _replies(content: Any) -> list[dict[str, Any]]:
    """Every reply in a message: a busy server puts several changes into one."""
    events = [event for event in content["events"] if event.get("attr") == "reply"]
    return [_plain(event["new"]) for event in events]


def _plain(node: Any) -> Any:
    """Bokeh's JSON for a map, as a dict."""
    if isinstance(node, dict) and node.get("type") == "map":
        return {key: _plain(value) for key, value in node.get("entries", [])}
    return node
