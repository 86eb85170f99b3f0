"""Logs as one JSON object a line, with nothing in them that a reader typed.

Our own events carry what we put there. Of other libraries' records only the place and the type
of the exception are kept: their messages quote requests and documents, which hold sentences.
"""

import json
import logging
import sys
import time
from typing import Any

OWN = "kvscroll"


def worth_keeping(record: logging.LogRecord) -> bool:
    """Our own events, and other libraries' warnings."""
    return record.name == OWN or record.levelno >= logging.WARNING


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": self._event(record),
        }
        if record.exc_info and record.exc_info[0]:
            told["error"] = record.exc_info[0].__name__
        return json.dumps(told)

    @staticmethod
    def _event(record: logging.LogRecord) -> str:
        if record.name == OWN:
            return record.getMessage()
        return f"{record.name}:{record.lineno}"


def start(level: int = logging.INFO) -> logging.Logger:
    """Send every log of the process to standard error in this form; return our own logger."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    handler.addFilter(worth_keeping)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("bokeh", "tornado", "panel", "param"):
        other = logging.getLogger(name)
        other.handlers[:] = []
        other.propagate = True
    logging.getLogger("tornado.access").setLevel(logging.ERROR)
    own = logging.getLogger(OWN)
    own.setLevel(level)
    return own
