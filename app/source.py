"""Real source, by name: what "show the code" shows cannot drift from what runs."""

import importlib
import inspect
import textwrap
from functools import cache
from typing import Any


@cache
def source_of(reference: str) -> dict[str, str]:
    """``"model.toy.decode:decode_cached"`` to its name and its text.

    Raises
    ------
    LookupError
        The module or the name does not exist: a figure points at code that has moved.
    """
    module_name, _, qualname = reference.partition(":")
    try:
        found = importlib.import_module(module_name)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"no source called {reference!r}") from error
    code: Any = found.fget if isinstance(found, property) else found
    text = textwrap.dedent(inspect.getsource(code))
    return {"name": f"{module_name}.{qualname}", "code": text}
