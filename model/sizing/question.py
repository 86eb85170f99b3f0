"""The question a reader asks: lengths, sequences, formats, engine, sharding, all within bounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.errors import BadInput
from model.sizing.engines import Engine, Ideal, LlamaCpp, OldTransformers, Transformers
from model.sizing.formats import Format, format_named
from model.sizing.layers import Rows
from model.sizing.vllm import Vllm

ENGINES: Mapping[str, Engine] = {
    e.name: e for e in (Ideal(), Transformers(), OldTransformers(), Vllm(), LlamaCpp())
}
MAX_TOKENS = 1_000_000_000
MAX_SEQUENCES = 1_000_000
AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Question:
    """How much of a model's cache: lengths, sequences, formats, engine, and sharding.

    A format of "auto" is the one the model itself stores, where it has one, else bf16;
    for weights, what the file's header says, else bf16.
    `shared_prefix` tokens are kept once for all sequences; `prefill_batch` tokens are read at
    once, where that is not the engine's own default.
    """

    tokens: int
    batch: int = 1
    beams: int = 1
    shared_prefix: int = 0
    encoder_tokens: int | None = None
    k_format: str = AUTO
    v_format: str = AUTO
    index_format: str = AUTO
    state_format: str = AUTO
    weight_format: str = AUTO
    tensor_parallel: int = 1
    block_size: int = 1
    prefill_batch: int | None = None
    engine: str = "ideal"

    def __post_init__(self) -> None:
        between("tokens", self.tokens, 0, MAX_TOKENS)
        between("batch", self.batch, 1, MAX_SEQUENCES)
        between("beams", self.beams, 1, 1024)
        between("shared prefix", self.shared_prefix, 0, self.tokens)
        between("tensor parallel size", self.tensor_parallel, 1, 4096)
        between("block size", self.block_size, 1, 65_536)
        if self.prefill_batch is not None:
            between("prefill batch", self.prefill_batch, 1, 1_000_000)
        if self.encoder_tokens is not None:
            between("encoder tokens", self.encoder_tokens, 0, MAX_TOKENS)
        if self.engine not in ENGINES:
            raise BadInput(f"no engine {self.engine[:40]!r}: choose one of {', '.join(ENGINES)}")

    @property
    def n_sequences(self) -> int:
        return self.batch * self.beams


def between(name: str, value: int, least: int, most: int) -> None:
    """Refuse a value out of bounds, with both numbers."""
    if not least <= value <= most:
        raise BadInput(f"{name} is {value:,}: give {least:,} to {most:,}")


def chosen_format(question: Question, rows: Rows) -> Format:
    """The format of these rows; NotInEngine when the question's engine has none such."""
    asked = {
        "key": question.k_format,
        "value": question.v_format,
        "index": question.index_format,
    }[rows.role]
    fmt = None if asked == AUTO else format_named(asked)
    return ENGINES[question.engine].stored(rows, fmt)


def model_bytes(question: Question) -> int:
    """Bytes of the model's own number type: 2, unless the cache is asked for in fp32."""
    return 4 if question.k_format != AUTO and format_named(question.k_format).name == "fp32" else 2


def state_bytes(question: Question) -> int:
    if question.state_format == AUTO:
        return model_bytes(question)
    return {"fp32": 4, "bf16": 2, "fp16": 2}.get(format_named(question.state_format).name, 2)
