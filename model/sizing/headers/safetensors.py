"""A safetensors file's header: the shape and type of each tensor (huggingface/safetensors)."""

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from model.errors import BadInput
from model.sizing.fields import whole

LONGEST_HEADER = 64 * 1024 * 1024
BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
FLOATS = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"}


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How many numbers a file (or all its parts) holds, their bytes, and whether all are floats."""

    numbers: int
    n_bytes: int
    plain: bool


def read_weights(path: Path) -> Weights:
    """The numbers of the file at `path` and of the parts beside it, when it is one of several."""
    parts = [count(read_header(part)) for part in parts_of(path)]
    return Weights(
        numbers=sum(p.numbers for p in parts),
        n_bytes=sum(p.n_bytes for p in parts),
        plain=all(p.plain for p in parts),
    )


def parts_of(path: Path) -> list[Path]:
    """`model-00001-of-00003.safetensors` and its siblings; each must be there."""
    matched = re.fullmatch(r"(.*-)(\d{5})-of-(\d{5})\.safetensors", path.name)
    if not matched:
        return [path]
    total = int(matched.group(3))
    names = [f"{matched.group(1)}{i:05d}-of-{total:05d}.safetensors" for i in range(1, total + 1)]
    missing = [name for name in names if not (path.parent / name).is_file()]
    if missing:
        raise BadInput(
            f"{len(missing):,} of {total:,} parts are missing: {missing[0]} is the first"
        )
    return [path.parent / name for name in names]


def read_header(path: Path) -> Mapping[str, Any]:
    """Tensor name to its type and shape; BadInput when the header is cut or damaged."""
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) != 8:  # noqa: PLR2004 - the length's own bytes
            raise BadInput(f"{path.name} has {len(start)} bytes; a safetensors file begins with 8")
        length = struct.unpack("<Q", start)[0]
        if length > LONGEST_HEADER:
            raise BadInput(
                f"{path.name} says its header has {length:,} bytes; at most {LONGEST_HEADER:,}"
            )
        text = file.read(length)
    if len(text) != length:
        raise BadInput(
            f"{path.name} ends in its header: {length:,} bytes wanted, {len(text):,} left"
        )
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput(f"the header of {path.name} is not JSON") from None
    if not isinstance(header, dict):
        raise BadInput(f"the header of {path.name} is not an object")
    return header


def count(header: Mapping[str, Any]) -> Weights:
    numbers = n_bytes = 0
    plain = True
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, dict) else None
        kind = entry.get("dtype") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or len(shape) > 8 or kind not in BYTES:  # noqa: PLR2004
            raise BadInput(
                f"the header's entry {name[:40]!r} has no shape and type that can be read"
            )
        size = prod(whole(n, "shape", least=0) for n in shape)
        numbers += size
        n_bytes += size * BYTES[kind]
        plain = plain and kind in FLOATS
    return Weights(numbers=numbers, n_bytes=n_bytes, plain=plain)
