"""The machine that serves, measured once a process in a thread; readers ask how far it is."""

import atexit
import threading
from typing import Any

from figures.serving_costs import on
from model.measure import CancelledError, measure

LOCK = threading.Lock()
STOPPING = threading.Event()
STATE: dict[str, Any] = {"state": "idle", "what": "waiting"}


def machine(_text: str) -> dict[str, Any]:
    """Start the measurement if nobody has; say how far it is, or what was found."""
    with LOCK:
        if STATE["state"] == "idle":
            STATE.update(state="measuring", what="memory bandwidth")
            worker = threading.Thread(target=_measure, daemon=True)
            worker.start()
            atexit.register(_stop, worker)
        return dict(STATE)


def _stop(worker: threading.Thread) -> None:
    """Let the measurement end before the process does: it must not be cut off in a kernel."""
    STOPPING.set()
    worker.join()


def _measure() -> None:
    def progress(_share: float, what: str) -> bool:
        STATE["what"] = what
        return not STOPPING.is_set()

    try:
        found = on(measure(progress=progress).chip)
        STATE.update(state="done", chip=found)
    except CancelledError:
        STATE["state"] = "idle"
    except (RuntimeError, MemoryError) as error:
        told = f"This machine could not be measured ({type(error).__name__})."
        STATE.update(state="failed", message=told)
