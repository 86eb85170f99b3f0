"""One reader's live wire: a sentence in, a run out, bounded whatever the other end sends."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from typing import Any

import param
from panel.custom import JSComponent

from app.paths import STATIC
from app.runs import PARTS, PERSONAL, part_of
from model.errors import BadInput

log = logging.getLogger("kvscroll")

RUNS_PER_SECOND = 12  # more than fingers can ask for; a flood of patches gets the last one only
BURST = 12
KNOWN_PARTS = frozenset(PARTS) | frozenset(PERSONAL)


class Allowance:
    """A token bucket: how many runs this reader may start now, and when the next is due."""

    def __init__(
        self,
        rate: float = RUNS_PER_SECOND,
        burst: int = BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self.left, self.at = float(burst), clock()

    def wait(self) -> float:
        """Seconds until one more may start; 0 takes it."""
        now = self.clock()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.rate


class Reader(JSComponent):
    """Headless: the browser sets ``ask``, the server answers in ``reply``."""

    ask = param.Parameter(
        doc="{id, part, text}: the sentence as typed; whatever arrives is checked."
    )
    reply = param.Dict(default={}, doc="{id, run}, {id, extras} or {id, message}.")

    _esm = STATIC / "js" / "reader.js"
    _debounce = 10

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.allowance = Allowance()
        self.waiting = False
        self.owner = secrets.token_hex(12)
        self.param.watch(self._asked, "ask")

    def _asked(self, _event: param.parameterized.Event) -> None:
        if self.waiting:  # the answer under way will read the latest ask
            return
        delay = self.allowance.wait()
        if delay == 0:
            self._answer()
        else:
            self.waiting = True
            asyncio.get_running_loop().call_later(delay, self._answer_late)

    def _answer_late(self) -> None:
        self.waiting = False
        self.allowance.wait()
        self._answer()

    def _answer(self) -> None:
        self.reply = answer(self.ask, self.owner)


def answer(ask: object, owner: str = "") -> dict[str, Any]:
    """The reply to one message, which may be anything at all; never raises."""
    fields = ask if isinstance(ask, dict) else {}
    number, text = fields.get("id"), fields.get("text")
    part = str(fields.get("part"))
    if not (isinstance(number, int) and isinstance(text, str) and part in KNOWN_PARTS):
        return {"id": 0, "message": "That message was not a sentence."}
    try:
        return {"id": number, part: part_of(part, text, owner)}
    except BadInput as error:
        return {"id": number, "message": str(error)}
    except Exception as error:  # noqa: BLE001 -- a reader must never see a traceback
        log.error("run failed: %s, %d characters", type(error).__name__, len(text))  # noqa: TRY400
        return {"id": number, "message": "This sentence could not be run; the last figures stay."}
