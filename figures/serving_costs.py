"""What a decode step costs on a chip: one table for the roofline and the batching figures.

Lists run over models, then batches, then contexts, in the order of the names beside them.
"""

from functools import cache
from typing import Any

from model.costs import Step, bound, decode_step, prefill_step
from model.hardware import CHIPS, Chip
from model.work_of import work_of

MODELS = ("Llama 3 8B", "Llama 2 7B", "Llama 3 70B", "Mixtral 8x7B", "DeepSeek-V3")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (128, 512, 2_048, 8_192, 32_768, 131_072)
ROOF = tuple(2.0**i for i in range(-2, 15))


def number_format(chip: Chip) -> str:
    """bfloat16 where the chip's rate is known, else the first format it has one for."""
    return "bfloat16" if "bfloat16" in chip.flops_per_s else next(iter(chip.flops_per_s))


@cache
def steps() -> dict[str, list[Step]]:
    """Every decode step, and a prefill of each context."""
    works = [work_of(model) for model in MODELS]
    return {
        "decode": [decode_step(w, b, n) for w in works for b in BATCHES for n in CONTEXTS],
        "prefill": [prefill_step(w, n) for w in works for n in CONTEXTS],
    }


def on(chip: Chip) -> dict[str, Any]:
    """The roof of a chip, and how long each step takes under it."""
    form = number_format(chip)
    times = {
        name: [bound(step, chip, form).seconds for step in some] for name, some in steps().items()
    }
    rates = {
        name: [_short(step.flops / s / 1e12) for step, s in zip(some, times[name], strict=True)]
        for name, some in steps().items()
    }
    return {
        "name": chip.name,
        "source": chip.source,
        "format": form,
        "ridge": _short(chip.ridge(form)),
        "intensity": (at := sorted((*ROOF, chip.ridge(form)))),
        "roof": [_short(chip.attainable(x, form) / 1e12) for x in at],
        "ms": [_short(1e3 * s) for s in times["decode"]],
        "decode": rates["decode"],
        "prefill": rates["prefill"],
    }


@cache
def table() -> dict[str, Any]:
    decode, prefill = steps()["decode"], steps()["prefill"]
    return {
        "models": MODELS,
        "batches": BATCHES,
        "contexts": CONTEXTS,
        "decode": [_short(step.intensity) for step in decode],
        "prefill": [_short(step.intensity) for step in prefill],
        "weights": [round(step.weight_bytes) for step in decode],
        "cache": [round(step.cache_bytes) for step in decode],
        "flops": [round(step.flops) for step in decode],
        "chips": {key: on(chip) for key, chip in CHIPS.items()},
    }


def _short(x: float) -> float:
    """Six significant digits: more than a chart or a sentence shows."""
    return float(f"{x:.6g}")
