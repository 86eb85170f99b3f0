"""The process of another engine: one line of settings in, then a line per turn, until stdin ends.

Between turns it waits in a read, so it takes nothing from whoever has the next turn.
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

ENGINES = {
    "llama.cpp": "model.engine.elsewhere.of_llama_cpp",
    "ctranslate2": "model.engine.elsewhere.of_ctranslate2",
}


def main(lines: Iterator[str], say: Callable[[str], object]) -> None:
    """Say `{"ready": true}` or `{"error": ...}`, then answer every prompt with its turn."""
    settings = json.loads(next(lines))
    try:
        engine: Any = importlib.import_module(ENGINES[settings["engine"]]).Engine(settings)
        say(json.dumps({"ready": True}))
        for line in lines:
            asked = json.loads(line)
            say(json.dumps(engine.turn(asked["prompt"], asked["steps"])._asdict()))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other end must hear of it
        said = " ".join(str(error).split())
        say(json.dumps({"error": f"{type(error).__name__}: {said}"}))


if __name__ == "__main__":
    # some engines' packages import PyTorch if they can, and with it a second pool of threads
    sys.modules["torch"] = None  # type: ignore[assignment]
    main(sys.stdin, partial(print, flush=True))
