"""Looking inside without a branch: the model tells a probe, and by default nobody listens."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

Probe = Callable[[str, Tensor], Any]
"""Called with a dotted name (`layers.1.weights`) and the tensor of that moment."""


def ignore(_name: str, _value: Tensor) -> None:
    """Listen to nothing."""


def within(prefix: str, probe: Probe) -> Probe:
    """Return a probe that hears every name with `prefix` in front of it."""
    return lambda name, value: probe(f"{prefix}.{name}", value)
