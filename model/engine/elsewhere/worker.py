"""Our end of the pipe to another engine's process."""

import contextlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from model.engine.elsewhere.turn import Turn
from model.errors import BadInput

PACKAGES = {"llama.cpp": "llama_cpp", "ctranslate2": "ctranslate2"}
HOW_TO_GET = {"llama.cpp": "pip install llama-cpp-python", "ctranslate2": "pip install ctranslate2"}
SETTLE_S = 0.3
"""Thread pools spin for up to 0.2 s after their last work, in case more comes."""


def installed(engine: str) -> bool:
    """Say whether an engine can be measured here (found, not imported)."""
    return importlib.util.find_spec(PACKAGES[engine]) is not None


class Worker:
    """A process that has loaded an engine and waits for turns, until `close()`.

    settings: engine, path, dtype, capacity, batch, threads. Raises BadInput with its complaint.
    """

    module = "model.engine.elsewhere.serve"

    def __init__(self, **settings: Any) -> None:
        self.engine = settings["engine"]
        self.process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            self._ask(settings)
        except BadInput:
            self.close()
            raise

    def turn(self, prompt: Sequence[Sequence[int]], steps: int) -> Turn:
        """Let it take a turn while everything else waits; wait until its threads sleep again."""
        time.sleep(SETTLE_S)
        answer = self._ask({"prompt": prompt, "steps": steps})
        time.sleep(SETTLE_S)
        return Turn(**answer)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise TypeError("a worker is started with pipes at both ends")
        try:
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
            answer = json.loads(stdout.readline() or "{}")
        except (BrokenPipeError, ValueError):
            answer = {}
        if "error" in answer or not answer:
            said = answer.get("error", f"its process ended with status {self.process.wait()}")
            raise BadInput(f"{self.engine} cannot be measured: {said}")
        return answer

    def close(self) -> None:
        """End the process by closing its input; force it only if it does not listen."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # it is dead, and some was unsent
                    pipe.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
