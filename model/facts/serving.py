"""Numbers lesson 4 quotes, from the functions its figures and tests call."""

from collections.abc import Callable
from functools import cache

from model.costs import (
    Step,
    attention_intensity,
    bound,
    decode_step,
    equal_traffic_batch,
    prefill_step,
    sequences_that_fit,
    throughput_limit,
)
from model.errors import BadInput
from model.facts import Fact
from model.hardware import CHIPS, Chip
from model.serving.batching import continuous_batching, static_batching
from model.serving.memories import PagedMemory, ReservedMemory
from model.serving.replay import Recording, replay
from model.serving.scheduling import Limits, Request, Timeline
from model.serving.tables import BlockTables
from model.serving.transfer import (
    LINKS,
    break_even_bytes_per_s,
    cache_bytes,
    handover_bits_per_s,
    load_seconds,
    rows_read_in_chunks,
)
from model.serving.workload import make_workload
from model.work import ModelWork, classic, square_prefill_flops
from model.work_of import work_of

H100 = CHIPS["h100"]
GB, GIB, MS = 1e9, 2**30, 1e3
EIGHT = (8, 2, 3, 7, 4, 1, 6, 5)
UNEVEN = (16, 1, 1, 1) * 4
SLOTS = 4
PROMPT = 2_048
WIDTH = 4_096
LONG = 8_192


def _llama() -> ModelWork:
    return work_of("Llama 3 8B")


def _ridge(chip: Chip) -> Fact:
    return Fact(
        text=f"{chip.ridge():.0f}",
        how=f"{chip.peak('bfloat16') / 1e12:g} TFLOP/s ÷ {chip.bytes_per_s / 1e12:g} TB/s",
        source=chip.source,
    )


def step_that_fits(batch: int, context: int) -> Step:
    """Return a decode step of Llama 3 8B on an H100, and refuse a batch it has no memory for."""
    most = sequences_that_fit(_llama(), context, H100.nbytes or 0.0)
    if batch > most:
        message = f"{batch} sequences of {context} tokens: {H100.name} has memory for {most}"
        raise BadInput(message)
    return decode_step(_llama(), batch, context)


def _step_time(batch: int, context: int) -> Fact:
    step = step_that_fits(batch, context)
    return Fact(
        text=f"{bound(step, H100).seconds * MS:.2f} ms",
        how=(
            f"({step.weight_bytes / GB:.2f} GB of weights + {step.cache_bytes / GB:.2f} GB of "
            f"caches) ÷ {H100.bytes_per_s / GB:,.0f} GB/s"
        ),
        source=H100.source,
    )


def _throughput(batch: int, context: int) -> Fact:
    seconds = bound(step_that_fits(batch, context), H100).seconds
    return Fact(
        text=f"{batch / seconds:,.0f} tokens/s",
        how=f"{batch} tokens ÷ {seconds * MS:.2f} ms",
        source=H100.source,
    )


def _prefill_time() -> Fact:
    step = prefill_step(_llama(), PROMPT)
    limits = bound(step, H100)
    return Fact(
        text=f"{limits.seconds * MS:.1f} ms",
        how=f"{step.flops / 1e12:.1f} TFLOP ÷ {H100.peak('bfloat16') / 1e12:g} TFLOP/s; "
        f"reading takes {limits.memory_s * MS:.1f} ms meanwhile",
        source=H100.source,
    )


def _intensity(step_of: Callable[[], float], how: str) -> Callable[[], Fact]:
    return lambda: Fact(text=f"{step_of():,.1f}", how=how)


def _fits() -> Fact:
    n = sequences_that_fit(_llama(), LONG, H100.nbytes or 0.0)
    return Fact(
        text=f"{n}",
        how=f"(80 GB − {_llama().weights_kept * 2 / GB:.1f} GB of weights) ÷ "
        f"{cache_bytes(_llama(), LONG) / GB:.3f} GB a sequence",
    )


def _equal_traffic() -> Fact:
    return Fact(
        text=f"{equal_traffic_batch(_llama(), LONG):.0f}",
        how=f"{_llama().weights_read(1) * 2 / GB:.1f} GB ÷ "
        f"{cache_bytes(_llama(), LONG) / GB:.2f} GB",
    )


def _limit() -> Fact:
    return Fact(
        text=f"{throughput_limit(_llama(), LONG, H100):,.0f} tokens/s",
        how=f"{H100.bytes_per_s / GB:,.0f} GB/s ÷ {cache_bytes(_llama(), LONG) / GB:.2f} GB",
        source=H100.source,
    )


def _block_square() -> Fact:
    count = square_prefill_flops(classic(WIDTH), PROMPT)
    return Fact(text=f"{count:,}", how=f"24Td² + 4T²d with d = {WIDTH:,}, T = {PROMPT:,}")


def _block_causal() -> Fact:
    count = classic(WIDTH).prefill_flops(PROMPT)
    return Fact(text=f"{count:,}", how=f"24Td² + 2T(T+1)d with d = {WIDTH:,}, T = {PROMPT:,}")


def _block_decode() -> Fact:
    count = classic(WIDTH).decode_flops(PROMPT)
    return Fact(text=f"{count:,}", how=f"24d² + 4dT with d = {WIDTH:,}, T = {PROMPT:,}")


@cache
def _schedule(outputs: tuple[int, ...], kind: str) -> Timeline:
    batching = {"static": static_batching, "continuous": continuous_batching}[kind]
    requests = [Request(name=f"{i}", output=output) for i, output in enumerate(outputs)]
    return batching(requests, Limits(slots=SLOTS))


def _steps(outputs: tuple[int, ...], kind: str) -> Callable[[], Fact]:
    return lambda: Fact(
        text=f"{_schedule(outputs, kind).n_steps}",
        how=f"outputs of {', '.join(map(str, outputs))} tokens in {SLOTS} slots",
    )


def _busy(outputs: tuple[int, ...], kind: str) -> Callable[[], Fact]:
    return lambda: Fact(
        text=f"{_schedule(outputs, kind).busy:.1%}",
        how=f"{sum(outputs)} tokens ÷ ({SLOTS} slots × {_schedule(outputs, kind).n_steps} steps)",
    )


@cache
def _served(kind: str) -> Recording:
    memory = {"paged": PagedMemory(32, 4), "reserved": ReservedMemory(128, 48)}[kind]
    return replay(make_workload(seed=0), memory)


def _waste(kind: str) -> Callable[[], Fact]:
    def waste() -> Fact:
        record = _served(kind)
        return Fact(
            text=f"{record.wasted.sum() / record.reserved.sum():.1%}",
            how=f"{record.wasted.sum():,} of {record.reserved.sum():,} reserved slots, summed "
            f"over {record.n_ticks} ticks",
        )

    return waste


def _block_waste() -> Fact:
    lengths, size = (5, 16, 33), 16
    tables = BlockTables(10, size)
    slots = size * sum(map(tables.blocks_for, lengths))
    return Fact(
        text=f"{sum(lengths) / slots:.1%}",
        how=f"{sum(lengths)} tokens in {slots} slots of blocks of {size}",
    )


def _link(name: str) -> Callable[[], Fact]:
    def seconds() -> Fact:
        work, link = work_of("Llama 3.1 70B"), LINKS[name]  # made for 131,072 tokens, 3 for 8,192
        took = load_seconds(work, 32_768, link)
        return Fact(
            text=f"{took:.2f} s" if took >= 0.1 else f"{took * MS:.0f} ms",  # noqa: PLR2004 - reads better
            how=f"{cache_bytes(work, 32_768) / GB:.2f} GB ÷ {link.bytes_per_s / GB:g} GB/s",
            source=link.source,
        )

    return seconds


def _break_even() -> Fact:
    return Fact(
        text=f"{break_even_bytes_per_s(_llama(), PROMPT, H100) / GB:.1f} GB/s",
        how=f"Llama 3 8B, {PROMPT:,} tokens, half of the H100's peak",
        source=H100.source,
    )


def _handover() -> Fact:
    work = work_of("Llama 3 70B")
    return Fact(
        text=f"{handover_bits_per_s(work, PROMPT, 10.0) / 1e9:.1f} Gb/s",
        how=f"8 × {cache_bytes(work, PROMPT) / GB:.3f} GB × 10 requests a second",
    )


def _chunks() -> Fact:
    return Fact(
        text=f"{rows_read_in_chunks(LONG, 512):,}",
        how=f"512 + 1,024 + … + {LONG:,}; in one pass {rows_read_in_chunks(LONG, LONG):,}",
    )


def _tokens_a_pass(acceptance: float, draft_tokens: int) -> Callable[[], Fact]:
    def expected() -> Fact:
        from model.speculation import expected_tokens  # noqa: PLC0415 - only here is torch needed

        return Fact(
            text=f"{expected_tokens(acceptance, draft_tokens):.2f}",
            how=f"(1 − aᵍ⁺¹) ÷ (1 − a) with a = {acceptance:g}, g = {draft_tokens}",
            source="Leviathan et al., arXiv 2211.17192",
        )

    return expected


def _sampling_order() -> Fact:
    from model.sampling import ORDER  # noqa: PLC0415 - as above

    return Fact(text=", then ".join(ORDER))


def _tie_rule() -> Fact:
    from model.sampling import TIE_RULE  # noqa: PLC0415 - as above

    return Fact(text=TIE_RULE)


FACTS: dict[str, Callable[[], Fact]] = {
    **{f"ridge-{name}": lambda name=name: _ridge(CHIPS[name]) for name in ("h100", "m4-max")},
    "llama-3-8b-step-one-at-2048": lambda: _step_time(1, PROMPT),
    "llama-3-8b-step-one-at-8192": lambda: _step_time(1, LONG),
    "llama-3-8b-step-32-at-8192": lambda: _step_time(32, LONG),
    "llama-3-8b-tokens-one": lambda: _throughput(1, 1),
    "llama-3-8b-tokens-32-at-8192": lambda: _throughput(32, LONG),
    "llama-3-8b-tokens-128-at-2048": lambda: _throughput(128, PROMPT),
    "llama-3-8b-tokens-limit-at-8192": _limit,
    "llama-3-8b-equal-traffic-at-8192": _equal_traffic,
    "llama-3-8b-fits-at-8192": _fits,
    "llama-3-8b-prefill-2048": _prefill_time,
    "intensity-decode-one": _intensity(
        lambda: decode_step(_llama(), 1, 1).intensity, "Llama 3 8B, batch 1: 2 FLOPs ÷ 2 bytes"
    ),
    "intensity-prefill-2048": _intensity(
        lambda: prefill_step(_llama(), PROMPT).intensity, "Llama 3 8B, FLOPs ÷ bytes of one pass"
    ),
    "intensity-attention-gqa": _intensity(
        lambda: attention_intensity(32, 8), "2 × 32 query heads ÷ 8 kv heads ÷ 2 bytes"
    ),
    "block-prefill-square": _block_square,
    "block-prefill-causal": _block_causal,
    "block-decode": _block_decode,
    "batching-static-eight": _steps(EIGHT, "static"),
    "batching-continuous-eight": _steps(EIGHT, "continuous"),
    "batching-static-eight-busy": _busy(EIGHT, "static"),
    "batching-continuous-eight-busy": _busy(EIGHT, "continuous"),
    "batching-static-uneven": _steps(UNEVEN, "static"),
    "batching-continuous-uneven": _steps(UNEVEN, "continuous"),
    "paging-used-example": _block_waste,
    "paging-waste-blocks": _waste("paged"),
    "paging-waste-reserved": _waste("reserved"),
    "paging-hit-rate": lambda: Fact(text=f"{_served('paged').hit_rate[-1]:.1%}"),
    "paging-ticks-blocks": lambda: Fact(text=f"{_served('paged').n_ticks}"),
    "paging-ticks-reserved": lambda: Fact(text=f"{_served('reserved').n_ticks}"),
    **{f"load-70b-{name}": _link(name) for name in LINKS},
    "load-break-even": _break_even,
    "handover-70b": _handover,
    "chunked-rows-read": _chunks,
    "speculation-tokens-80-4": _tokens_a_pass(0.8, 4),
    "speculation-tokens-60-4": _tokens_a_pass(0.6, 4),
    "sampling-order": _sampling_order,
    "sampling-ties": _tie_rule,
}
