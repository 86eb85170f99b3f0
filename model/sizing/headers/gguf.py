"""A GGUF file's header: its settings, and the name, shape and type of each tensor.

The layout is ggml's (ggml-org/ggml docs/gguf.md, versions 2 and 3). No tensor data is read, and
every count and length is checked before anything is made of it.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from model.errors import BadInput

MAGIC = b"GGUF"
MOST_SETTINGS, MOST_TENSORS = 65_536, 1_000_000
LONGEST_STRING, LONGEST_ARRAY = 1 << 24, 1 << 22
KEPT_ARRAY = 4096
DEEPEST = 2
SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
STRING, ARRAY = 8, 9
TYPES: Mapping[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 40), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""ggml type number to numbers a block and bytes a block."""


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One tensor's entry: its sizes (fastest first), and how ggml stores it."""

    name: str
    shape: tuple[int, ...]
    kind: int

    @property
    def numbers(self) -> int:
        return prod(self.shape)

    @property
    def n_bytes(self) -> int:
        block, block_bytes = TYPES[self.kind]
        return -(-self.numbers // block) * block_bytes


@dataclass(frozen=True, kw_only=True)
class Header:
    settings: Mapping[str, Any]
    tensors: tuple[Tensor, ...]


class Reader:
    """Values in sequence from a file, with a refusal where it ends too soon."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file = file
        self.name = name

    def take(self, n_bytes: int) -> bytes:
        data = self.file.read(n_bytes)
        if len(data) != n_bytes:
            raise BadInput(
                f"{self.name} ends in its header: {n_bytes:,} bytes wanted, {len(data):,} left"
            )
        return data

    def scalar(self, code: str) -> Any:
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def bounded(self, what: str, most: int) -> int:
        value = self.scalar("<Q")
        if value > most:
            raise BadInput(f"{self.name} says {value:,} {what}; at most {most:,} are read")
        return value

    def string(self) -> str:
        length = self.bounded("characters in a name or text", LONGEST_STRING)
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            return self.string()
        if kind == ARRAY and depth < DEEPEST:
            return self.array(depth)
        raise BadInput(f"{self.name} holds a setting of type {kind}, which GGUF does not have")

    def array(self, depth: int) -> Any:
        """A short array as a list; of a long one only its length, under `len`."""
        kind = self.scalar("<I")
        length = self.bounded("values in a list", LONGEST_ARRAY)
        if kind in SCALARS and length > KEPT_ARRAY:
            self.take(struct.calcsize(SCALARS[kind]) * length)
            return {"len": length}
        values = [self.value(kind, depth + 1) for _ in range(length)]
        return values if length <= KEPT_ARRAY else {"len": length}

    def tensor(self) -> Tensor:
        name = self.string()
        n_axes = self.scalar("<I")
        if n_axes > 8:  # noqa: PLR2004 - ggml has four
            raise BadInput(f"{self.name} gives {name[:40]!r} {n_axes:,} axes; ggml has at most 4")
        shape = tuple(self.bounded("numbers along an axis", 1 << 40) for _ in range(n_axes))
        kind = self.scalar("<I")
        self.scalar("<Q")
        if kind not in TYPES:
            raise BadInput(f"{self.name} stores {name[:40]!r} as ggml type {kind}, not known here")
        return Tensor(name=name, shape=shape, kind=kind)


def read_header(path: Path) -> Header:
    """The header of the GGUF file at `path`; BadInput when it is cut, damaged or too old."""
    with path.open("rb") as file:
        reader = Reader(file, path.name)
        if reader.take(4) != MAGIC:
            raise BadInput(f"{path.name} does not begin with GGUF")
        version = reader.scalar("<I")
        if version not in (2, 3):
            raise BadInput(f"{path.name} is GGUF version {version}; 2 and 3 are read")
        n_tensors = reader.bounded("tensors", MOST_TENSORS)
        n_settings = reader.bounded("settings", MOST_SETTINGS)
        settings = {}
        for _ in range(n_settings):
            key = reader.string()
            settings[key] = reader.value(reader.scalar("<I"))
        tensors = tuple(reader.tensor() for _ in range(n_tensors))
    return Header(settings=settings, tensors=tensors)
