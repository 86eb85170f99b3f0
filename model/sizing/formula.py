"""The answer as arithmetic: one line for each run of like layers, numbers substituted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from model.sizing.engines import Engine, Run
from model.sizing.layers import Layer, Rows, State
from model.sizing.question import ENGINES, chosen_format, state_bytes
from model.sizing.size import Answer, shard
from model.sizing.units import both


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
    engine = ENGINES[answer.question.engine]
    layers = engine.layers(answer.model.layers)
    first_seen: dict[tuple[Any, ...], int] = {}
    keyed = []
    for layer, sized in zip(layers, answer.layers, strict=True):
        key = (layer.kind, layer.holds, not layer.holds and layer.owner != layer.index)
        first_seen.setdefault(key, layer.index)
        keyed.append((first_seen[key], layer, sized.n_bytes))
    keyed.sort(key=lambda item: item[0])
    return [
        line_of([layer for _, layer, _ in group], [n for _, _, n in group], answer, engine)
        for group in (list(g) for _, g in groupby(keyed, key=lambda item: item[0]))
    ]


def line_of(layers: list[Layer], n_bytes: list[int], answer: Answer, engine: Engine) -> Line:
    text = layer_text(layers[0], answer, engine)
    total = sum(n_bytes)
    count = f"{len(layers)} {layers[0].kind} layer{'s' if len(layers) > 1 else ''}"
    shown = f"{count} x {text} = {total:,} B" if total else f"{count}: {text}"
    return Line(
        n_layers=len(layers),
        indices=tuple(layer.index for layer in layers),
        kind=layers[0].kind,
        text=shown,
        n_bytes=total,
    )


def layer_text(layer: Layer, answer: Answer, engine: Engine) -> str:
    """What one layer's bytes are made of."""
    if not layer.holds:
        reads = layer.owner != layer.index
        return f"read layer {layer.owner}'s cache, keep nothing" if reads else "keep nothing"
    part = shard(layer, answer.question.tensor_parallel)
    terms = [row_text(rows, answer, engine) for rows in merged(part.rows)]
    terms += [row_text(rows, answer, engine) for rows in merged(part.cross_rows)]
    terms += [state_text(state, answer, engine) for state in part.states]
    ranks = answer.question.tensor_parallel
    return ("(" + " + ".join(terms) + ")") + (f" x {ranks} GPUs" if ranks > 1 else "")


def merged(rows: Sequence[Rows]) -> list[tuple[Rows, ...]]:
    """Keys and values of one shape together: they are counted with a factor of two."""
    groups: dict[tuple[Any, ...], list[Rows]] = {}
    for r in rows:
        pair = r.role != "index" and r.name.split()[-1] in ("key", "value") and r.heads
        shape = (r.heads, r.width, r.window, r.every, r.side) if pair else (r.name,)
        groups.setdefault(shape, []).append(r)
    return [tuple(g) for g in groups.values()]


def row_text(rows: tuple[Rows, ...], answer: Answer, engine: Engine) -> str:
    """Rows as `2 x 8 heads x 128 x 2 B x 4,096 tokens x 1 sequence`."""
    question = answer.question
    one = next(iter(rows))
    formats = [chosen_format(question, r) for r in rows]
    if len(rows) > 1 and len({f.name for f in formats}) > 1:
        return " + ".join(row_text((r,), answer, engine) for r in rows)
    run = Run(
        n_tokens=question.tokens,
        n_sequences=question.n_sequences,
        encoder_tokens=answer.encoder_tokens or 0,
        block=question.block_size,
        prefill_batch=question.prefill_batch,
    )
    cells = engine.cells(one, run)
    each = formats[0].n_bytes(one, 1)
    factor = "2 x " if len(rows) > 1 else ""
    heads = f"{one.heads:,} heads x " if one.heads > 1 or len(rows) > 1 else ""
    count = f"{cells.rows:,} {'rows' if one.every > 1 else 'tokens'}"
    return (
        f"{factor}{heads}{one.width:,} {label(rows)}x {per_number(each, one.numbers)} x {count}"
        f"{tokens_note(one, question.tokens)} x {buffers(cells.buffers, question.n_sequences)}"
    )


def buffers(n: int, n_sequences: int) -> str:
    """How many times the rows are kept: once a sequence, or in one buffer for all."""
    if n != n_sequences:
        return f"{n:,} buffer for all"
    return f"{n:,} sequence" + ("s" if n > 1 else "")


def label(rows: tuple[Rows, ...]) -> str:
    if len(rows) > 1:
        return "encoder keys and values " if next(iter(rows)).side == "encoder" else ""
    return f"({next(iter(rows)).name}) "


def tokens_note(rows: Rows, n_tokens: int) -> str:
    if rows.window is not None:
        return f" [min({n_tokens:,}, {rows.window:,})]"
    return f" [1 per {rows.every} tokens]" if rows.every > 1 else ""


def per_number(row_bytes: int, numbers: int) -> str:
    """Bytes a number, exact where it is a short decimal."""
    value = row_bytes / numbers
    return f"{value:.6g} B"


def state_text(state: State, answer: Answer, engine: Engine) -> str:
    n = answer.question.n_sequences
    numbers, each = engine.state(state, state_bytes(answer.question))
    return f"{numbers:,} ({state.name}) x {each} B x {buffers(n, n)}"


def total_line(answer: Answer) -> str:
    """The sum of the lines, in bytes, GiB and GB."""
    parts = [f"{line.n_bytes:,}" for line in lines(answer) if line.n_bytes]
    if answer.padding_bytes:
        parts.append(f"{answer.padding_bytes:,} of padding")
    start = f"{' + '.join(parts)} = " if len(parts) > 1 else ""
    return f"{start}{answer.cache_bytes:,} B = {both(answer.cache_bytes)}"
