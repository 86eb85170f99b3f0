"""The answer: bytes, and the layers they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from model.errors import BadInput
from model.sizing.engines import Run
from model.sizing.formats import Format, Kivi, Piece, Quanto, bits_per_number, format_named
from model.sizing.layers import Layer, Model, Rows, alike
from model.sizing.question import AUTO, ENGINES, Question, chosen_format, state_bytes
from model.sizing.terms import Allocation, Terms, total


@dataclass(frozen=True, kw_only=True)
class LayerSize:
    """One layer of the answer; `owner` is another layer's index where that one's rows are read.

    `terms` are one rank's, `n_bytes` those of all ranks.
    """

    index: int
    kind: str
    owner: int
    numbers_per_token: Fraction
    window: int | None
    terms: Terms
    n_bytes: int
    holds: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All that was asked. `bytes_per_token_*` are for one sequence, the other bytes for all."""

    model: Model
    question: Question
    encoder_tokens: int | None
    bytes_per_token_first: Fraction
    bytes_per_token_marginal: Fraction
    fixed_bytes: int
    cache_bytes: int
    padding_bytes: int
    bytes_per_gpu: int
    weight_bytes: int | None
    layers: tuple[LayerSize, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]


def size(model: Model, question: Question) -> Answer:
    """The bytes `model` keeps under `question`: a sum over its layers.

    Raises BadInput when a format's block does not fit a width, or a combination has no meaning.
    """
    encoder_tokens, assumed = source_length(model, question)
    engine = ENGINES[question.engine]
    layers = engine.layers(model.layers)
    described = {members[0].holds: describe_all(members[0]) for members in alike(layers)}
    one_rank = allocation(layers, question, encoder_tokens or 0)
    ranks = question.tensor_parallel
    return Answer(
        model=model,
        question=question,
        encoder_tokens=encoder_tokens,
        bytes_per_token_first=slope(layers, question, growing_only=False),
        bytes_per_token_marginal=slope(layers, question, growing_only=True),
        fixed_bytes=one_rank.fixed_bytes * ranks,
        cache_bytes=one_rank.total * ranks,
        padding_bytes=one_rank.padding * ranks,
        bytes_per_gpu=one_rank.total,
        weight_bytes=weight_bytes(model, question),
        layers=tuple(
            layer_size(
                layer, one_rank.growing[i] + one_rank.fixed[i], ranks, described[layer.holds]
            )
            for i, layer in enumerate(layers)
        ),
        assumed=model.assumed + assumed,
        warnings=model.warnings + tuple(warnings(model, question)),
    )


def total_bytes(model: Model, question: Question) -> int:
    """`size(...).cache_bytes` alone."""
    encoder_tokens, _ = source_length(model, question)
    layers = ENGINES[question.engine].layers(model.layers)
    return allocation(layers, question, encoder_tokens or 0).total * question.tensor_parallel


def source_length(model: Model, question: Question) -> tuple[int | None, tuple[str, ...]]:
    """How many encoder tokens, and whether that was assumed."""
    if not model.has_encoder:
        return None, ()
    if question.encoder_tokens is not None:
        return question.encoder_tokens, ()
    known = model.encoder_tokens
    if known is None:
        raise BadInput(f"{model.name} reads a source whose length it does not say: give it")
    return known, (f"encoder tokens = {known:,} (the most the model reads; not given)",)


def allocation(layers: list[Layer], question: Question, encoder_tokens: int) -> Allocation:
    """Bytes on one tensor-parallel rank, layer by layer; like layers are counted once."""
    if question.engine == "vllm":  # its pages are of one size for all layers
        return allocate(layers, question, encoder_tokens)
    groups = alike(layers)
    each = allocate([members[0] for members in groups], question, encoder_tokens)
    growing: list[Terms] = [()] * len(layers)
    fixed: list[Terms] = [()] * len(layers)
    place = {layer.index: i for i, layer in enumerate(layers)}
    for members, grows, stays in zip(groups, each.growing, each.fixed, strict=True):
        for layer in members:
            growing[place[layer.index]], fixed[place[layer.index]] = grows, stays
    return Allocation(growing=tuple(growing), fixed=tuple(fixed), padding=each.padding)


def allocate(layers: list[Layer], question: Question, encoder_tokens: int) -> Allocation:
    """What the engine makes of these layers, each counted on its own."""
    run = Run(
        n_tokens=question.tokens,
        n_sequences=question.n_sequences,
        n_sources=question.batch,
        encoder_tokens=encoder_tokens,
        shared_prefix=question.shared_prefix,
        block=question.block_size,
        prefill_batch=question.prefill_batch,
    )
    sharded = [shard(layer, question.tensor_parallel) for layer in layers]

    def pieces_of(rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        fmt = chosen_format(question, rows)
        if run.n_copies and isinstance(fmt, (Kivi, Quanto)) and rows.side == "decoder":
            raise BadInput(
                f"{fmt.name} keeps its newest tokens apart for each sequence: a prefix of "
                f"{run.shared_prefix:,} tokens cannot be shared in it, choose another format"
            )
        return fmt.pieces(rows, n_rows)

    return ENGINES[question.engine].allocate(sharded, run, pieces_of, state_bytes(question))


def shard(layer: Layer, ranks: int) -> Layer:
    """One rank's part: heads are divided, and repeated where there are fewer heads than ranks."""
    if ranks == 1:
        return layer
    holds = []
    for held in layer.holds:
        if isinstance(held, Rows):
            heads = held.heads if held.replicated else max(1, -(-held.heads // ranks))
            holds.append(replace(held, heads=heads))
        else:
            holds.append(
                replace(
                    held,
                    numbers=-(-held.numbers // ranks),
                    numbers_without_newest=-(-held.numbers_without_newest // ranks),
                )
            )
    return replace(layer, holds=tuple(holds))


def slope(layers: list[Layer], question: Question, *, growing_only: bool) -> Fraction:
    """Bytes one more token adds to one sequence: to all rows, or to those without a window."""
    total = Fraction(0)
    for members in alike(layers):
        for rows in members[0].rows:
            if growing_only and rows.window is not None:
                continue
            each = row_bytes(chosen_format(question, rows), rows) / rows.every
            total += each * len(members)
    return total


def row_bytes(fmt: Format, rows: Rows) -> Fraction:
    """Bytes of one row in the long run, a residual's newest tokens left out."""
    if isinstance(fmt, (Kivi, Quanto)):
        return rows.numbers * bits_per_number(fmt) / 8
    return Fraction(fmt.n_bytes(rows, 1))


def weight_bytes(model: Model, question: Question) -> int | None:
    """All weights in one format: as counted in the file's header, else in 16 bits."""
    if question.weight_format == AUTO and model.stored_weight_bytes is not None:
        return model.stored_weight_bytes
    if model.parameters is None:
        return None
    asked = question.weight_format
    bits = bits_per_number(format_named("bf16" if asked == AUTO else asked))
    return int(-(-model.parameters * bits // 8))


def layer_size(
    layer: Layer, terms: Terms, ranks: int, holds: tuple[Mapping[str, Any], ...]
) -> LayerSize:
    return LayerSize(
        index=layer.index,
        kind=layer.kind,
        owner=layer.owner,
        numbers_per_token=layer.numbers_per_token,
        window=layer.window,
        terms=terms,
        n_bytes=total(terms) * ranks,
        holds=holds,
    )


def describe_all(layer: Layer) -> tuple[Mapping[str, Any], ...]:
    return tuple(describe(held) for held in layer.holds)


def describe(held: object) -> Mapping[str, Any]:
    """One thing a layer keeps, as plain values."""
    if isinstance(held, Rows):
        return {
            "what": held.name,
            "heads": held.heads,
            "width": held.width,
            "tokens_per_row": held.every,
            "window": held.window,
            "of": held.side,
        }
    return {"what": getattr(held, "name", ""), "numbers": getattr(held, "numbers", 0)}


def warnings(model: Model, question: Question) -> list[str]:
    """What a reader should know before trusting the total."""
    found = []
    if model.max_tokens is not None and question.tokens > model.max_tokens:
        found.append(
            f"{question.tokens:,} tokens are more than the {model.max_tokens:,} the model is "
            "made for"
        )
    found += chunks_as_windows(model, question)
    stored = model.weights_stored_as
    if stored == "float32" and question.k_format == AUTO:
        found.append("the file says float32: in that type the cache is twice as large as in bf16")
    counted = model.parameters and model.stored_weight_bytes is None
    if stored and stored not in ("float32", "bfloat16", "float16") and counted:
        found.append(
            f"the file's weights are stored as {stored}: the weight bytes here are for "
            f"{'bf16' if question.weight_format == AUTO else question.weight_format} throughout"
        )
    return found


def chunks_as_windows(model: Model, question: Question) -> list[str]:
    """What the ideal view counts for a chunk, where the chunk begun last holds fewer tokens."""
    chunks = {layer.window for layer in model.layers if layer.kind == "chunked"}
    return [
        f"chunked layers count {chunk:,} tokens, what engines keep at most; "
        f"the chunk begun last has {question.tokens % chunk:,}"
        for chunk in chunks
        if chunk and question.tokens > chunk and question.tokens % chunk
    ]
