"""Another engine's process whose engine counts: to test the pipe with nothing installed."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from model.engine.elsewhere import serve
from model.engine.elsewhere.turn import Turn


class Engine:
    def __init__(self, settings: dict[str, Any]) -> None:
        if settings["batch"] > 2:
            message = "a fake takes\nat most 2"
            raise ValueError(message)
        self.n_turns = 0

    def turn(self, prompt: Sequence[Sequence[int]], steps: int) -> Turn:
        self.n_turns += 1
        if steps == 0:
            raise ZeroDivisionError
        first = sum(prompt[0])
        tokens = [first + i for i in range(steps + 1)]
        return Turn(prefill_s=len(prompt), step_s=self.n_turns, step_cpu_s=0.5, tokens=tokens)


if __name__ == "__main__":
    serve.ENGINES["fake"] = __name__
    serve.main(sys.stdin, partial(print, flush=True))
