"""How many bytes kept numbers take, scales and residuals included."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, runtime_checkable

from model.errors import BadInput
from model.sizing.layers import Rows


@dataclass(frozen=True, kw_only=True)
class Piece:
    """`count` things of `each` bytes: rows, unless `unit` names another thing."""

    count: int
    each: int
    unit: str = ""


@runtime_checkable
class Format(Protocol):
    """A way to store `n_rows` rows of a tensor."""

    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        """What `n_rows` rows of `rows` are stored as."""
        ...

    def n_bytes(self, rows: Rows, n_rows: int) -> int:
        """Bytes for `n_rows` rows of `rows`: those of its pieces."""
        ...


class Layout(ABC):
    """A format whose bytes are those of its pieces."""

    @abstractmethod
    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        """What `n_rows` rows of `rows` are stored as."""

    def n_bytes(self, rows: Rows, n_rows: int) -> int:
        return sum(piece.count * piece.each for piece in self.pieces(rows, n_rows))


def _must_divide(name: str, block: int, rows: Rows) -> None:
    if rows.width % block:
        raise BadInput(
            f"{name} packs {block} numbers a block, and a {rows.name} of width {rows.width} "
            f"leaves {rows.width % block} over: choose a format whose block divides {rows.width}"
        )


@dataclass(frozen=True, kw_only=True)
class Blocks(Layout):
    """`block` numbers in `block_bytes` bytes, and `row_bytes` of scale for each row of a head."""

    name: str
    block: int
    block_bytes: int
    row_bytes: int = 0
    note: str = ""

    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        _must_divide(self.name, self.block, rows)
        one_head = rows.width // self.block * self.block_bytes + self.row_bytes
        return (Piece(count=n_rows, each=rows.heads * one_head),)


@dataclass(frozen=True, kw_only=True)
class Kivi(Layout):
    """KIVI: keys quantised per channel over groups of tokens, values per token over channels.

    The newest tokens stay in 16 bits: `n_rows mod residual` keys, `residual` values. A group
    carries a 16-bit scale and a 16-bit zero point (Liu et al. 2024, arXiv 2402.02750).
    """

    name: str
    bits: int
    group: int = 32
    residual: int = 128
    note: str = ""

    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        _must_divide(self.name, self.group, rows)
        recent = min(n_rows, self.residual) if rows.role == "value" else n_rows % self.residual
        packed = rows.numbers // self.group * (self.group * self.bits // 8 + 4)
        return (
            Piece(count=n_rows - recent, each=packed),
            Piece(count=recent, each=rows.numbers * 2),
        )


@dataclass(frozen=True, kw_only=True)
class Quanto(Layout):
    """transformers' QuantizedCache: groups of 64 with a bf16 scale and shift, and a residual.

    Counted for a text written token by token: the first row is quantised, then up to 127
    rows wait in 16 bits until all are quantised anew.
    """

    name: str
    bits: int
    group: int = 64
    residual: int = 128
    note: str = ""

    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        recent = (n_rows - 1) % self.residual if n_rows else 0
        groups = -(-(n_rows - recent) * rows.numbers // self.group)
        return (
            Piece(count=groups, each=self.group * self.bits // 8 + 4, unit="groups"),
            Piece(count=recent, each=rows.numbers * 2),
        )


@dataclass(frozen=True, kw_only=True)
class LatentFp8(Layout):
    """vLLM's and SGLang's fp8_ds_mla: an FP8 latent with a scale per 128, a bf16 rotary key."""

    name: str = "fp8_ds_mla"
    note: str = "latent in FP8 with one fp32 scale per 128 numbers; rotary key in bf16"

    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        if rows.name == "rotary key":
            return (Piece(count=n_rows, each=rows.numbers * 2),)
        if rows.name not in {"latent", "index key"}:
            raise BadInput(
                f"fp8_ds_mla lays out the latent of MLA; a {rows.name} of width {rows.width} "
                "is none: choose fp8"
            )
        _must_divide(self.name, 128, rows)
        return (Piece(count=n_rows, each=rows.numbers + rows.numbers // 128 * 4),)


@dataclass(frozen=True, kw_only=True)
class EntryFp8(Layout):
    """DeepSeek-V4's entries in vLLM: 448 FP8 numbers, 64 rotary ones in bf16, 8 bytes of scale."""

    name: str = "fp8_ds_v4"
    note: str = "584 bytes for an entry of 512 numbers"

    def pieces(self, rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        if rows.width != 512:  # noqa: PLR2004 - the layout is for this width alone
            raise BadInput(
                f"fp8_ds_v4 lays out entries of 512 numbers; a {rows.name} has {rows.width}: "
                "choose fp8"
            )
        return (Piece(count=n_rows, each=rows.heads * 584),)


FORMATS: Mapping[str, Format] = {
    f.name: f
    for f in (
        Blocks(name="fp32", block=1, block_bytes=4),
        Blocks(name="bf16", block=1, block_bytes=2),
        Blocks(name="fp16", block=1, block_bytes=2),
        Blocks(name="fp8", block=1, block_bytes=1, note="one scale a tensor, not counted (4 B)"),
        Blocks(
            name="fp8_block128",
            block=128,
            block_bytes=132,
            note="a 4-byte scale per 128, as indexers keep their keys",
        ),
        Blocks(
            name="fp8_per_token_head",
            block=1,
            block_bytes=1,
            row_bytes=4,
            note="a 4-byte scale for each token and head",
        ),
        Blocks(
            name="int8",
            block=1,
            block_bytes=1,
            row_bytes=4,
            note="a 4-byte scale for each token and head",
        ),
        Blocks(name="q8_0", block=32, block_bytes=34, note="a 16-bit scale per 32"),
        Blocks(name="q5_1", block=32, block_bytes=24, note="16-bit scale and minimum per 32"),
        Blocks(name="q5_0", block=32, block_bytes=22, note="a 16-bit scale per 32"),
        Blocks(name="q4_1", block=32, block_bytes=20, note="16-bit scale and minimum per 32"),
        Blocks(name="q4_0", block=32, block_bytes=18, note="a 16-bit scale per 32"),
        Blocks(name="iq4_nl", block=32, block_bytes=18, note="a 16-bit scale per 32"),
        Blocks(name="nvfp4", block=16, block_bytes=9, note="an 8-bit scale per 16"),
        Blocks(name="mxfp4", block=32, block_bytes=17, note="an 8-bit scale per 32"),
        Blocks(name="mxfp8", block=32, block_bytes=33, note="an 8-bit scale per 32"),
        Kivi(name="kivi2", bits=2, note="groups of 32; the newest up to 128 tokens in 16 bits"),
        Kivi(name="kivi4", bits=4, note="groups of 32; the newest up to 128 tokens in 16 bits"),
        Quanto(name="quanto2", bits=2, note="groups of 64; up to 127 newest tokens in 16 bits"),
        Quanto(name="quanto4", bits=4, note="groups of 64; up to 127 newest tokens in 16 bits"),
        LatentFp8(),
        EntryFp8(),
    )
}

ALIASES: Mapping[str, str] = {
    "float32": "fp32",
    "f32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "f16": "fp16",
    "half": "fp16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "int8_per_token_head": "int8",
    "kivi_2": "kivi2",
    "kivi_4": "kivi4",
    "quanto_int2": "quanto2",
    "quanto_int4": "quanto4",
}


@lru_cache(maxsize=256)
def format_named(name: str) -> Format:
    """The format a reader means, however spelled; BadInput lists them all."""
    plain = "_".join(name.lower().replace("-", "_").split())
    found = FORMATS.get(ALIASES.get(plain, plain))
    if found is None:
        raise BadInput(f"no cache format {name[:40]!r}: choose one of {', '.join(FORMATS)}")
    return found


def bits_per_number(fmt: Format, width: int = 128) -> Fraction:
    """Bits one number takes in rows of `width`, scales included, residual left out.

    >>> float(bits_per_number(FORMATS["nvfp4"]))
    4.5
    """
    if isinstance(fmt, Kivi):
        return Fraction(fmt.bits) + Fraction(32, fmt.group)
    if isinstance(fmt, Quanto):
        return Fraction(fmt.bits) + Fraction(32, fmt.group)
    rows = Rows(name="latent", role="key", width=width)
    return Fraction(8 * fmt.n_bytes(rows, 1), width)
