"""FLOPs of the matrix products that a class of transformers really runs, and of its states."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM

from tests.oracles import real_cache

MIXERS = ("ShortConv", "Mixer", "MambaLayer", "DeltaNet", "DeltaAttention", "LightningAttention")
ELEMENTWISE = ("mul", "add", "sum")


def build(model_type: str, raw: dict[str, Any], kind: Any = AutoModelForCausalLM) -> Any:
    """The class with random weights: eager attention and experts, so that all is seen."""
    config = real_cache.config_of(model_type, raw)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    with real_cache.quiet():
        return kind.from_config(config, dtype=torch.float32).eval()


def counted(call: Callable[[], Any]) -> tuple[FlopCounterMode, Any]:
    with real_cache.quiet(), torch.no_grad(), FlopCounterMode(display=False) as counter:
        out = call()
    return counter, out


def cache_of(out: Any) -> dict[str, Any]:
    """The cache in a class's answer, under the name by which it is given back."""
    name = next(k for k in ("past_key_values", "cache_params", "cache") if k in out)
    return {name: out[name]}


def pass_and_step(model: Any, n_tokens: int) -> tuple[int, int]:
    """FLOPs of a pass over `n_tokens` with all logits, then of one step; scans apart."""
    ids = torch.zeros((1, n_tokens), dtype=torch.long)
    first, out = counted(lambda: model(input_ids=ids, use_cache=True))
    step, _ = counted(lambda: model(input_ids=ids[:, :1], use_cache=True, **cache_of(out)))
    return without_scans(model, first, n_tokens), without_scans(model, step, 1)


def mixers(model: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    """Modules that keep a state: what they do outside their matrices is a scan."""
    for name, module in model.named_modules():
        kind = type(module).__name__
        if kind.endswith(MIXERS):
            yield name, module


def without_scans(model: Any, counter: FlopCounterMode, n_tokens: int) -> int:
    """All products but those a mixer makes outside its own matrices; kernels count as scans.

    A matrix that a mixer multiplies with itself, not by calling it, shows among the scans.
    """
    counts = {name: sum(by_op.values()) for name, by_op in counter.get_flop_counts().items()}
    root = type(model).__name__
    total = counts["Global"]
    for name, mixer in mixers(model):
        total -= counts.get(f"{root}.{name}", 0)
        for child, module in mixer.named_modules():
            if isinstance(module, torch.nn.Linear):
                by_hand = 2 * module.weight.numel() * n_tokens
                total += counts.get(f"{root}.{name}.{child}", by_hand)
    return total


def kernel_numbers(model: Any) -> int:
    """Numbers of the mixers' convolutions, which `without_scans` leaves out."""
    convolutions = (m for _, one in mixers(model) for m in one.modules())
    return sum(m.weight.numel() for m in convolutions if isinstance(m, torch.nn.Conv1d))


class StateOps(TorchDispatchMode):
    """Counts FLOPs on tensors of exactly a state's size: one an entry, two where it is read."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.numbers = numbers
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        given = [a for a in args if isinstance(a, torch.Tensor)]
        sizes = {t.numel() for t in (*given, out) if isinstance(t, torch.Tensor)}
        if name in ELEMENTWISE and self.numbers in sizes:
            self.seen[name] += self.numbers
        if name == "bmm" and self.numbers in sizes:
            inner = given[0].shape[-1]  # an outer product adds nothing up
            self.seen["outer" if inner == 1 else "read"] += (1 + (inner > 1)) * self.numbers
        return out


def state_flops(model: Any, n_tokens: int, numbers: int) -> int:
    """FLOPs of one step on states of so many numbers, in all layers together."""
    ids = torch.zeros((1, n_tokens), dtype=torch.long)
    with real_cache.quiet(), torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
        with StateOps(numbers) as ops:
            model(input_ids=ids[:, :1], use_cache=True, **cache_of(out))
    return sum(ops.seen.values())
