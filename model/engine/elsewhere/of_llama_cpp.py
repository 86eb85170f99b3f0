"""llama.cpp through llama-cpp-python, one sequence, its cache in the same type as the weights."""

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from model.engine.elsewhere.turn import Turn
from model.errors import BadInput

GGML_TYPES = {"float32": 0, "float16": 1, "bfloat16": 30}
"""Numbers of `enum ggml_type` (ggml-org/llama.cpp, ggml/include/ggml.h)."""


class Engine:
    """A GGUF file, loaded; settings: path, dtype, capacity, batch, threads."""

    def __init__(self, settings: dict[str, Any]) -> None:
        library: Any = importlib.import_module("llama_cpp")  # only where it is installed
        if settings["batch"] != 1:
            message = f"llama.cpp is measured with 1 sequence, not {settings['batch']}"
            raise BadInput(message)
        kind = GGML_TYPES[settings["dtype"]]
        self.last_scores = library.llama_get_logits_ith
        self.llama = library.Llama(
            settings["path"],
            n_ctx=settings["capacity"],
            n_batch=settings["capacity"],
            n_ubatch=settings["capacity"],
            n_threads=settings["threads"],
            n_threads_batch=settings["threads"],
            type_k=kind,
            type_v=kind,
            verbose=False,
        )

    def feed(self, tokens: Sequence[int]) -> int:
        """Read tokens and choose the likeliest next one."""
        self.llama.eval(tokens)
        scores = self.last_scores(self.llama.ctx, -1)
        return int(np.ctypeslib.as_array(scores, shape=(self.llama.n_vocab(),)).argmax())

    def turn(self, prompt: Sequence[Sequence[int]], steps: int) -> Turn:
        """Read the prompt from nothing, then write."""
        self.llama.reset()
        start = time.perf_counter()
        tokens = [self.feed(prompt[0])]
        prefilled, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            tokens.append(self.feed(tokens[-1:]))
        return Turn(
            prefill_s=prefilled - start,
            step_s=(time.perf_counter() - prefilled) / steps,
            step_cpu_s=(time.process_time() - cpu) / steps,
            tokens=tokens,
        )
