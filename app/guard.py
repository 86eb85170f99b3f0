"""What the other end of the wire may send: a question, and that its document is ready.

Bokeh accepts any change to any property of a session's document. A page here needs one property
of one model, so everything else is answered with a refusal and never touches the document.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from bokeh.server.session import ServerSession

ACCEPTED_PROPERTIES = frozenset({"ask"})
REFUSAL = "only questions are accepted here"


def accepted(event: object) -> bool:
    """Whether one event of a patch is a question, or the notice that the page is ready."""
    if not isinstance(event, Mapping):
        return False
    if event.get("kind") == "ModelChanged":
        attr = event.get("attr")
        return isinstance(attr, str) and attr in ACCEPTED_PROPERTIES
    if event.get("kind") == "MessageSent":
        data = event.get("msg_data")
        return isinstance(data, Mapping) and data.get("name") == "document_ready"
    return False


def install() -> None:
    """Put the guard before Bokeh's sessions. Call before the server is made; twice is once."""
    if getattr(ServerSession.patch, "guarded", False):
        return
    apply_patch = ServerSession.patch.__func__  # pyright: ignore[reportFunctionMemberAccess]

    async def patch(cls: type[ServerSession], message: Any, connection: Any) -> Any:
        events = message.content.get("events") if isinstance(message.content, Mapping) else None
        if not isinstance(events, list) or not all(map(accepted, events)):
            return connection.error(message, REFUSAL)
        return await apply_patch(cls, message, connection)

    async def push(_cls: type[ServerSession], message: Any, connection: Any) -> Any:
        return connection.error(message, REFUSAL)

    patch.guarded = True  # pyright: ignore[reportFunctionMemberAccess]
    ServerSession.patch = classmethod(patch)  # pyright: ignore[reportAttributeAccessIssue]
    ServerSession.push = classmethod(push)  # pyright: ignore[reportAttributeAccessIssue]
    # An ERROR reply would carry the server's traceback, paths included.
    error_module: Any = importlib.import_module("bokeh.protocol.messages.error")
    error_module.format_exception = lambda *_: []
