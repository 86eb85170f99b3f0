"""The answer as arithmetic: one line for each run of like layers, numbers substituted.

Lines are written from the very terms the bytes were summed from, so each multiplies out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from model.sizing.layers import Layer, Rows, State
from model.sizing.question import ENGINES
from model.sizing.size import Answer, LayerSize
from model.sizing.terms import Term, Terms
from model.sizing.units import both, exact_decimal


@dataclass(frozen=True, kw_only=True)
class Line:
    """Like layers together: how many, which, what a layer's bytes are made of, and their sum."""

    n_layers: int
    indices: tuple[int, ...]
    kind: str
    text: str
    n_bytes: int


def lines(answer: Answer) -> list[Line]:
    """One line per set of like layers, in the order they first appear; they add up to the total."""
    layers = ENGINES[answer.question.engine].layers(answer.model.layers)
    first_seen: dict[tuple[Any, ...], int] = {}
    keyed = []
    for layer, sized in zip(layers, answer.layers, strict=True):
        key = (layer.kind, layer.holds, not layer.holds and layer.owner != layer.index)
        first_seen.setdefault(key, layer.index)
        keyed.append((first_seen[key], layer, sized))
    keyed.sort(key=lambda item: item[0])
    return [
        line_of([layer for _, layer, _ in group], [sized for _, _, sized in group], answer)
        for group in (list(g) for _, g in groupby(keyed, key=lambda item: item[0]))
    ]


def line_of(layers: list[Layer], sizes: list[LayerSize], answer: Answer) -> Line:
    text = layer_text(layers[0], sizes[0].terms, answer)
    total = sum(sized.n_bytes for sized in sizes)
    count = f"{len(layers)} {layers[0].kind} layer{'s' if len(layers) > 1 else ''}"
    shown = f"{count} x {text} = {total:,} B" if total else f"{count}: {text}"
    return Line(
        n_layers=len(layers),
        indices=tuple(layer.index for layer in layers),
        kind=layers[0].kind,
        text=shown,
        n_bytes=total,
    )


def layer_text(layer: Layer, terms: Terms, answer: Answer) -> str:
    """What one layer's bytes are made of."""
    if not layer.holds:
        reads = layer.owner != layer.index
        return f"read layer {layer.owner + 1}'s cache, keep nothing" if reads else "keep nothing"
    shown = [(one.sign, term_text(one, n, answer)) for one, n in merged(terms)]
    text = "".join(f" {'-' if sign < 0 else '+'} {product}" for sign, product in shown)
    ranks = answer.question.tensor_parallel
    return f"({text.removeprefix(' + ')})" + (f" x {ranks} GPUs" if ranks > 1 else "")


def merged(terms: Sequence[Term]) -> list[tuple[Term, int]]:
    """Keys and values alike in all but name together, with a factor; what is empty left out."""
    groups: dict[object, list[Term]] = {}
    for i, term in enumerate(terms):
        shape = shape_of_pair(term.of) or i
        key = (shape, term.count, term.each, term.buffers, term.unit, term.sign)
        groups.setdefault(key, []).append(term)
    kept = [group for group in groups.values() if group[0].n_bytes] or list(groups.values())
    return [(group[0], len(group)) for group in kept]


def shape_of_pair(of: Rows | State | None) -> tuple[object, ...]:
    """What a key and its value have in common; nothing for all else."""
    if not isinstance(of, Rows) or of.name.split()[-1] not in ("key", "value"):
        return ()
    return of.heads, of.width, of.window, of.every, of.side, of.role == "index"


def term_text(term: Term, n: int, answer: Answer) -> str:
    """A product, as in `2 x 8 heads x 128 x 2 B x 4,096 tokens x 1 sequence`."""
    times = buffers(term, answer)
    if term.of is None:
        unit = term.unit if term.count > 1 else term.unit.removesuffix("s")
        return f"{term.count:,} {unit} x {term.each:,} B of padding x {times}"
    if not isinstance(term.of, Rows):
        return f"{term.count:,} ({term.of.name}) x {term.each} B x {times}"
    factor = f"{n} x " if n > 1 else ""
    name = label(term.of) if n == 1 else "encoder keys and values " * (term.of.side == "encoder")
    if term.unit:
        named = name or "(keys and values) "
        return f"{factor}{term.count:,} {term.unit} {named}x {term.each} B x {times}"
    tokens = f"{term.count:,} {'rows' if term.of.every > 1 else 'tokens'}"
    note = tokens_note(term, answer)
    return f"{factor}{one_row(term.of, term.each, name, n)} x {tokens}{note} x {times}"


def one_row(rows: Rows, each: int, name: str, n: int) -> str:
    """A row's bytes: heads, numbers, and bytes a number where those are a short decimal."""
    heads = f"{rows.heads:,} heads x " if rows.heads > 1 or n > 1 else ""
    a_number = exact_decimal(Fraction(each, rows.numbers))
    if a_number:
        return f"{heads}{rows.width:,} {name}x {a_number} B"
    if each % rows.heads == 0:
        return f"{heads}{each // rows.heads:,} B a row {name}".rstrip()
    return f"{each:,} B a row {name}".rstrip()


def label(rows: Rows) -> str:
    return f"({rows.name}) "


def buffers(term: Term, answer: Answer) -> str:
    """How many times it is kept: once a sequence, once a source, or in one buffer for all."""
    n, question = term.buffers, answer.question
    if term.sign < 0:
        return f"{n:,} shared {'copies' if n > 1 else 'copy'}"
    if n == question.n_sequences:
        return f"{n:,} sequence" + ("s" if n > 1 else "")
    if isinstance(term.of, Rows) and term.of.side == "encoder" and n == question.batch:
        return f"{n:,} source{'s' if n > 1 else ''} for all beams"
    return f"{n:,} buffer for all"


def tokens_note(term: Term, answer: Answer) -> str:
    """Why there are so many rows; nothing where that is every token."""
    rows = term.of
    if not isinstance(rows, Rows) or term.sign < 0:
        return ""
    if rows.window is not None:
        tokens = answer.question.tokens
        exact = term.count == min(tokens, rows.window)
        return f" [min({tokens:,}, {rows.window:,})]" if exact else f" [window {rows.window:,}]"
    return f" [1 per {rows.every} tokens]" if rows.every > 1 else ""


def total_line(answer: Answer) -> str:
    """The sum of the lines, in bytes, GiB and GB."""
    parts = [f"{line.n_bytes:,}" for line in lines(answer) if line.n_bytes]
    if answer.padding_bytes:
        parts.append(f"{answer.padding_bytes:,} of padding")
    start = f"{' + '.join(parts)} = " if len(parts) > 1 else ""
    return f"{start}{answer.cache_bytes:,} B = {both(answer.cache_bytes)}"
