"""From work to time: intensity, the roofline, and the least a step can take.

Sources: Pope et al., arXiv 2211.05102; jax-ml/scaling-book inference.md and roofline.md.
"""

from dataclasses import dataclass

from model.errors import BadInput
from model.hardware import Chip
from model.work import ModelWork


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one pass computes and moves. Activations are left out: they stay on the chip.

    cache_bytes: rows read (decode) or written (prefill), and states.
    """

    flops: float
    weight_bytes: float
    cache_bytes: float

    @property
    def nbytes(self) -> float:
        return self.weight_bytes + self.cache_bytes

    @property
    def intensity(self) -> float:
        """FLOPs per byte moved."""
        return self.flops / self.nbytes


@dataclass(frozen=True, kw_only=True)
class Formats:
    """Bytes of one stored weight and of one cached number (fractions for small formats).

    States of fixed size keep the format their model gives them.
    """

    weight_bytes: float = 2.0
    cache_bytes: float = 2.0


BF16 = Formats()


def decode_step(work: ModelWork, batch: int, context: int, formats: Formats = BF16) -> Step:
    """One token for each of `batch` sequences of `context` tokens, the new one included.

    Weights are read once for all of them, caches one each; a state is read and written back.
    """
    _at_least_one(batch=batch, context=context)
    return Step(
        flops=float(batch * work.decode_flops(context)),
        weight_bytes=work.weights_read(batch) * formats.weight_bytes,
        cache_bytes=batch * cache_traffic(work, context, formats),
    )


def prefill_step(work: ModelWork, tokens: int, formats: Formats = BF16) -> Step:
    """One prompt in one pass; its keys, values and states are written, and read on the chip.

    With an encoder: the source is read first, and `tokens` are the decoder's own.
    """
    _at_least_one(tokens=tokens)
    encoder = work.encoder.weights if work.encoder else 0
    rows = float(tokens * work.cache_written()) + work.cross_written
    return Step(
        flops=float(work.prefill_flops(tokens)),
        weight_bytes=(work.weights_read(tokens) + encoder) * formats.weight_bytes,
        cache_bytes=rows * formats.cache_bytes + work.state_bytes,
    )


def cache_traffic(work: ModelWork, context: int, formats: Formats = BF16) -> float:
    """Return the bytes of its own cache that one decoding sequence moves in a step."""
    return work.cache_read(context) * formats.cache_bytes + 2 * work.state_bytes


def cache_bytes(work: ModelWork, tokens: int, formats: Formats = BF16) -> float:
    """Return the bytes a sequence of `tokens` tokens has in its cache; windows keep less."""
    return work.cache_kept(tokens) * formats.cache_bytes + work.state_bytes


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The two least times of a step; memory and arithmetic overlap, so the longer one counts."""

    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        return max(self.memory_s, self.compute_s)

    @property
    def limited_by(self) -> str:
        return "memory" if self.memory_s >= self.compute_s else "arithmetic"


def bound(step: Step, chip: Chip, number_format: str = "bfloat16") -> Bound:
    """Return the least time a chip can take; real kernels reach half to nine tenths of it."""
    return Bound(
        memory_s=step.nbytes / chip.bytes_per_s,
        compute_s=step.flops / chip.peak(number_format),
    )


def equal_traffic_batch(work: ModelWork, context: int, formats: Formats = BF16) -> float:
    """Return the batch at which caches are read as much as weights (dense models)."""
    return work.weights_read(1) * formats.weight_bytes / cache_traffic(work, context, formats)


def sequences_that_fit(
    work: ModelWork, context: int, nbytes: float, formats: Formats = BF16
) -> int:
    """Sequences of `context` tokens that fit beside the weights; 0 if those do not fit."""
    left = nbytes - work.weights_kept * formats.weight_bytes
    return max(int(left // cache_bytes(work, context, formats)), 0)


def throughput_limit(work: ModelWork, context: int, chip: Chip, formats: Formats = BF16) -> float:
    """Tokens per second that no batch can pass: only caches are read, weights cost nothing."""
    return chip.bytes_per_s / cache_traffic(work, context, formats)


def attention_intensity(query_heads: int, kv_heads: int, cache_bytes: float = 2.0) -> float:
    """FLOPs per cached byte in decode: each number serves the queries of its group.

    >>> attention_intensity(64, 8)
    8.0
    """
    return 2 * query_heads / kv_heads / cache_bytes


def linear_intensity(
    tokens: int, d_in: int, d_out: int, weight_bytes: float = 2.0, activation_bytes: float = 2.0
) -> float:
    """FLOPs per byte of one matrix product, activations moved too."""
    moved = weight_bytes * d_in * d_out + activation_bytes * tokens * (d_in + d_out)
    return 2 * tokens * d_in * d_out / moved


def _at_least_one(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            message = f"{name} is {size}: it must be at least 1"
            raise BadInput(message)
