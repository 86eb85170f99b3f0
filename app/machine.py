"""The machine that serves, measured once a process in a thread; readers ask how far it is."""

import threading
from typing import Any

from figures.serving_costs import on

LOCK = threading.Lock()
STATE: dict[str, Any] = {"state": "idle", "what": "waiting"}


def machine(_text: str) -> dict[str, Any]:
    """Start the measurement if nobody has; say how far it is, or what was found."""
    with LOCK:
        if STATE["state"] == "idle":
            STATE.update(state="measuring", what="memory bandwidth")
            threading.Thread(target=_measure, daemon=True).start()
        return dict(STATE)


def _measure() -> None:
    from model.measure import measure  # noqa: PLC0415 -- loads torch

    def progress(_share: float, what: str) -> bool:
        STATE["what"] = what
        return True

    try:
        found = on(measure(progress=progress).chip)
        STATE.update(state="done", chip=found)
    except (RuntimeError, MemoryError) as error:
        told = f"This machine could not be measured ({type(error).__name__})."
        STATE.update(state="failed", message=told)
