"""What each configuration class of transformers fills in: read from a file, not imported."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PATH = Path(__file__).with_name("class_defaults.json")


@cache
def _classes() -> Any:  # nested too deep to be checked at every call
    return json.loads(_PATH.read_text(encoding="utf-8"))["classes"]


def known(model_type: str) -> bool:
    return model_type in _classes()


def model_types() -> tuple[str, ...]:
    return tuple(_classes())


def defaults(model_type: str) -> Mapping[str, Any]:
    """The class's defaults that bear on sizes; empty for a type it does not know."""
    return _classes().get(model_type, {}).get("defaults", {})


def names(model_type: str) -> Mapping[str, str]:
    """Standard name to the class's own name."""
    return _classes().get(model_type, {}).get("names", {})


def inside(model_type: str) -> Mapping[str, str]:
    """Key of a nested config to the model type it has when it does not say."""
    return _classes().get(model_type, {}).get("inside", {})


def has_field(model_type: str, name: str) -> bool:
    """Whether the class declares `name`, under it or under its own name for it."""
    entry = _classes().get(model_type, {})
    own = {name, names(model_type).get(name, name)}
    return any(n in entry.get("defaults", {}) or n in entry.get("fields", ()) for n in own)
