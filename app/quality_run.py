"""A reader's own measurement of small caches: queued with the other runs, told case by case.

The wire's part ``quality`` carries JSON: ``{"action": "start", "what": …}``, then ``look`` and
``cancel`` with the job's name.
"""

from typing import Any

from app.jobs import JOBS, Job
from app.real_model import DEVICE, SOURCE, check_installed, parsed, watched
from model.engine.shipped import FEWER_BITS, FEWER_ROWS, QUALITY, tell
from model.errors import BadInput

TEXT = "programs/a-program.txt"
SLOTS, SINKS = 64, (0, 1, 4)
FORMATS = ("int8", "fp8-e4m3", "fp4", "mxfp4")
WHATS = (FEWER_ROWS, FEWER_BITS)


def quality_part(text: str, owner: str) -> dict[str, Any]:
    """Answer one message of a measured figure.

    Raises
    ------
    BadInput
        No model is installed, the message does not parse, or the queue is full.
    """
    check_installed()
    asked = parsed(text)
    if asked.get("action") == "start":
        return JOBS.look(JOBS.start(owner, Measuring(asked)).name)
    return watched(asked)


class Measuring:
    """One measurement on one of our texts, checked before it is queued."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.what = asked.get("what")
        if self.what not in WHATS:
            raise BadInput(f"only {' and '.join(WHATS)} can be measured here")

    def cases(self) -> list[Any]:
        from model.engine.perplexity import Case  # noqa: PLC0415 -- loads PyTorch

        if self.what == FEWER_ROWS:
            return [Case(slots=SLOTS, sinks=sinks) for sinks in SINKS]
        return [Case(k_format=name, v_format=name) for name in FORMATS]

    def __call__(self, job: Job) -> None:
        """Load the weights if this is the first run, then measure, telling after each case."""
        from app.quality_bench import quality_row  # noqa: PLC0415 -- loads PyTorch
        from app.speed_bench import TEXTS, circumstances  # noqa: PLC0415
        from model.engine.devices import (  # noqa: PLC0415
            choose_device,
            choose_dtype,
            out_of_memory_as_bad_input,
        )
        from model.engine.perplexity import measure  # noqa: PLC0415
        from model.engine.sources import load_once  # noqa: PLC0415

        cases = self.cases()
        names = [QUALITY[str(self.what)][1](vars(case)) for case in cases]
        job.told = {"what": "loading the weights", "n_done": 0, "n_cases": len(cases)}
        device = choose_device(DEVICE.get())
        loaded = load_once(SOURCE, choose_dtype("float32", device), device)
        if loaded.tokenizer is None:
            raise BadInput(f"{loaded.name} came without a tokenizer")
        text = TEXTS / TEXT
        tokens = loaded.tokenizer.encode(text.read_text(encoding="utf-8"))
        told = circumstances(loaded.name, device) | {"command": f"on {text.stem}"}
        rows = list[dict[str, Any]]()
        job.told = {**job.told, "what": f"the full cache, then {names[0]}"}
        with out_of_memory_as_bad_input():
            for found in measure(loaded.model, tokens, cases):
                rows.append(quality_row(text, len(tokens), found))
                job.told = {
                    **job.told,
                    "n_done": len(rows),
                    "what": names[min(len(rows), len(names) - 1)],
                    "found": tell({**told, "rows": rows})[str(self.what)],
                }
                if job.cancelled:
                    return
