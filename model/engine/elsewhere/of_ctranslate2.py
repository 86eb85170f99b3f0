"""CTranslate2's generator, greedy; its callback, once per token, tells the time of each step."""

import importlib
import time
from collections.abc import Sequence
from typing import Any

from model.engine.elsewhere.turn import Turn


class Engine:
    """A converted folder, loaded; settings: path, dtype, batch, threads."""

    def __init__(self, settings: dict[str, Any]) -> None:
        library: Any = importlib.import_module("ctranslate2")  # only where it is installed
        self.generator = library.Generator(
            settings["path"],
            compute_type=settings["dtype"],
            intra_threads=settings["threads"],
        )

    def turn(self, prompt: Sequence[Sequence[int]], steps: int) -> Turn:
        """Read the prompt at once, then write `steps` more tokens than its own next one."""
        tokens, clock, cpu = list[int](), list[float](), list[float]()

        def note(step: Any) -> bool:
            if step.batch_id == 0:
                tokens.append(step.token_id)
                clock.append(time.perf_counter())
                cpu.append(time.process_time())
            return False

        start = time.perf_counter()
        self.generator.generate_batch(
            [[str(token) for token in one] for one in prompt],
            include_prompt_in_result=False,
            max_length=steps + 1,
            min_length=steps + 1,
            callback=note,
        )
        return Turn(
            prefill_s=clock[0] - start,
            step_s=(clock[-1] - clock[0]) / steps,
            step_cpu_s=(cpu[-1] - cpu[0]) / steps,
            tokens=tokens,
        )
