"""What passes cost: FLOPs and bytes of every model, and chips, for the roofline and batching.

A step's FLOPs are a sequence's times the batch; its bytes the batch's weights and a cache each.
So a few numbers for each model give every step, and a chip turns them into time.
"""

from functools import cache
from typing import Any

from model.costs import BF16, cache_bytes, cache_traffic, decode_step, prefill_step
from model.hardware import CHIPS, Chip
from model.sizing.catalogue import entries, find, model_of
from model.work_of import work_of

FIRST = ("Llama 3 8B", "Llama 2 7B", "Llama 3.1 70B", "Mixtral 8x7B", "DeepSeek-V3")
NAMED = {find(name).name for name in FIRST}
MODELS = (*FIRST, *(entry.name for entry in entries() if entry.name not in NAMED))
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (128, 512, 2_048, 8_192, 32_768, 131_072)
ROOF = tuple(2.0**i for i in range(-2, 15))


def number_format(chip: Chip) -> str:
    """bfloat16 where the chip's rate is known, else the first format it has one for."""
    return "bfloat16" if "bfloat16" in chip.flops_per_s else next(iter(chip.flops_per_s))


def on(chip: Chip) -> dict[str, Any]:
    """A chip's rates and its roof."""
    form = number_format(chip)
    return {
        "name": chip.name,
        "source": chip.source,
        "format": form,
        "bytes_per_s": chip.bytes_per_s,
        "flops_per_s": chip.peak(form),
        "nbytes": chip.nbytes,
        "ridge": _short(chip.ridge(form)),
        "intensity": (at := sorted((*ROOF, chip.ridge(form)))),
        "roof": [_short(chip.attainable(x, form) / 1e12) for x in at],
    }


def passes(name: str) -> dict[str, Any]:
    """One model's numbers: FLOPs and cache bytes of a token at each context, weights by batch."""
    work, model = work_of(name), model_of(find(name).name)
    prefills = [prefill_step(work, n) for n in CONTEXTS]
    return {
        "flops": [work.decode_flops(n) for n in CONTEXTS],
        "cache": [round(cache_traffic(work, n)) for n in CONTEXTS],
        "weights": [round(decode_step(work, b, 1).weight_bytes) for b in BATCHES],
        "prefill_flops": [round(step.flops) for step in prefills],
        "prefill_bytes": [round(step.nbytes) for step in prefills],
        "most": model.max_tokens,
        "assumed": list(work.assumed),
    }


def kept(name: str) -> dict[str, Any]:
    """What one model fills memory with: bytes of its weights, and of a sequence at each context."""
    work = work_of(name)
    return {
        "weights": round(work.weights_kept * BF16.weight_bytes),
        "cache": [round(cache_bytes(work, n)) for n in CONTEXTS],
    }


@cache
def table() -> dict[str, Any]:
    return {
        "models": MODELS,
        "batches": BATCHES,
        "contexts": CONTEXTS,
        "passes": [passes(name) for name in MODELS],
        "kept": [kept(name) for name in MODELS],
        "chips": {key: on(chip) for key, chip in CHIPS.items()},
    }


def _short(x: float) -> float:
    """Six significant digits: more than a chart or a sentence shows."""
    return float(f"{x:.6g}")
