"""JSON as people paste it, read within bounds: size, depth, and nothing but an object."""

import json
from pathlib import Path
from typing import Any

from model.errors import BadInput

MAX_BYTES = 1_048_576
MAX_DEPTH = 32


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in `text`; anything else is refused in one line.

    `Infinity` and `NaN` are read, for real files hold them (`time_step_limit`); a value that
    is needed and is not a whole number is refused where it is needed.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise BadInput(
            f"the text is {len(raw):,} bytes; a config.json has a few thousand, "
            f"and at most {MAX_BYTES:,} are read"
        )
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(
            f"byte {error.start:,} is not UTF-8: paste the text of a config.json"
        ) from None
    except RecursionError:
        raise BadInput(f"the JSON is nested more than {MAX_DEPTH} deep") from None
    except json.JSONDecodeError as error:
        raise BadInput(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}; "
            "paste a whole config.json, from { to }"
        ) from None
    except ValueError:  # an integer of more than 4,300 digits
        raise BadInput("not JSON that can be read: a number in it has too many digits") from None
    if not isinstance(value, dict):
        raise BadInput(f"the JSON is {_kind(value)}; a config.json is an object: {{...}}")
    _check_depth(value)
    return value


def read_bounded(path: Path) -> bytes:
    """The file's bytes when it is no larger than a config may be."""
    try:
        n_bytes = path.stat().st_size
        if n_bytes > MAX_BYTES:
            raise BadInput(
                f"{path.name} is {n_bytes:,} bytes; a config.json has a few thousand, "
                f"and at most {MAX_BYTES:,} are read"
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:  # a path with a null byte
        raise BadInput("cannot read a file whose name holds a null byte") from None


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _check_depth(value: object) -> None:
    """Walk without recursion, so that no text can exhaust the stack."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise BadInput(f"the JSON is nested more than {MAX_DEPTH} deep")
