"""Bytes as people write and read them: GB and GiB are different, and both are shown."""

import re
from fractions import Fraction

from model.errors import BadInput

UNITS = {
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
    "tib": 1024**4,
}
_WRITTEN = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([a-zA-Z]*)\s*")
MAX_BYTES = 2**60


def parse_bytes(text: str) -> int:
    """Bytes of "24GiB", "80 GB" or "25769803776"; a bare G is refused, for it has two meanings.

    >>> parse_bytes("24GiB"), parse_bytes("24 GB")
    (25769803776, 24000000000)
    """
    matched = _WRITTEN.fullmatch(text[:64])
    unit = matched.group(2).lower() if matched else ""
    if matched is None or (unit and unit not in UNITS):
        raise BadInput(
            f"memory {text[:40]!r} is not understood: write 24GiB (24 x 1,073,741,824 bytes) "
            "or 24GB (24 x 1,000,000,000)"
        )
    whole, _, part = matched.group(1).partition(".")
    scaled = int(whole + part) * UNITS[unit or "b"] // 10 ** len(part)
    if not 0 < scaled <= MAX_BYTES:
        raise BadInput(f"memory is {scaled:,} bytes: give 1 to {MAX_BYTES:,}")
    return scaled


def parse_count(text: str, name: str, *, most: int, least: int = 1) -> int:
    """A whole number with optional separators; `128k` is refused, for it has two meanings.

    >>> parse_count("131,072", "--tokens", most=10**9)
    131072
    """
    plain = text.strip().replace(",", "").replace("_", "")
    if plain[-1:].lower() == "k" and plain[:-1].isdecimal() and len(plain) < 10:  # noqa: PLR2004
        n = int(plain[:-1])
        raise BadInput(f"{name} {text!r} may mean {n * 1000:,} or {n * 1024:,}: write the number")
    if not (plain.isascii() and plain.isdecimal()) or len(plain) > 20:  # noqa: PLR2004
        raise BadInput(f"{name} is {text[:40]!r}: give a whole number from {least:,} to {most:,}")
    if not least <= int(plain) <= most:
        raise BadInput(f"{name} is {int(plain):,}: give {least:,} to {most:,}")
    return int(plain)


def binary(n_bytes: float) -> str:
    """In KiB, MiB or GiB, the largest that leaves at least 1."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = UNITS[unit.lower()]
        if n_bytes >= scale:
            return f"{_short(n_bytes / scale)} {unit}"
    return f"{_short(n_bytes)} B"


def decimal(n_bytes: float) -> str:
    """In kB, MB or GB, the largest that leaves at least 1."""
    for unit in ("TB", "GB", "MB", "kB"):
        scale = UNITS[unit.lower()]
        if n_bytes >= scale:
            return f"{_short(n_bytes / scale)} {unit}"
    return f"{_short(n_bytes)} B"


def both(n_bytes: float) -> str:
    """In both units, for they differ by 7 % at a gigabyte.

    >>> both(2 * 1024**3)
    '2 GiB (2.147 GB)'
    """
    if n_bytes < UNITS["kb"]:
        return f"{_short(n_bytes)} B"
    return f"{binary(n_bytes)} ({decimal(n_bytes)})"


def exact_decimal(value: Fraction, *, most_places: int = 8) -> str:
    """The value in decimals, all of them; empty where they do not end soon.

    >>> exact_decimal(Fraction(528, 512)), exact_decimal(Fraction(196, 192))
    ('1.03125', '')
    """
    scaled = value * 10**most_places
    if scaled.denominator != 1:
        return ""
    whole, part = divmod(scaled.numerator, 10**most_places)
    return f"{whole:,}.{part:0{most_places}}".rstrip("0").rstrip(".")


def _short(value: float) -> str:
    text = f"{value:,.3f}" if value < 100 else f"{value:,.2f}"  # noqa: PLR2004
    return text.rstrip("0").rstrip(".")
