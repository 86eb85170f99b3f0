"""No reply is left unsent: a message queued while another is being written is written too.

Panel keeps messages that cannot be sent at once, and a task for each batch. A task that ends
takes away the mark without which the next one does nothing, so a batch queued meanwhile stayed
behind until something else was sent. Here a task that finds messages sets the mark again.
"""

from bokeh.document import Document
from panel.io import document as panel_document


def install() -> None:
    """Put ours before Panel's writer. Call before the server is made; twice is once."""
    write = panel_document._dispatch_msgs  # noqa: SLF001 -- no public name reaches it
    if getattr(write, "delivers", False):
        return

    async def write_what_waits(doc: Document) -> None:
        if doc in panel_document._WRITE_MSGS:  # noqa: SLF001
            panel_document._WRITE_BLOCK[doc] = True  # noqa: SLF001
        await write(doc)

    write_what_waits.delivers = True  # pyright: ignore[reportFunctionMemberAccess]
    panel_document._dispatch_msgs = write_what_waits  # noqa: SLF001
