"""Answers to the questions of lesson 4, and a few of its numbers, by running the code itself."""

import json
from collections.abc import Callable
from functools import cache

from model.costs import Formats, Step, bound, decode_step, equal_traffic_batch, prefill_step
from model.facts import Fact
from model.facts.measured import FOLDER
from model.facts.serving import step_that_fits
from model.hardware import CHIPS
from model.serving.prefix_tree import PrefixTree
from model.serving.tables import BlockTables
from model.serving.transfer import LINKS, load_seconds, recompute_seconds
from model.work import classic
from model.work_of import work_of

H100 = CHIPS["h100"]
PROMPT, ANSWER, WIDTH = 2_048, 200, 4_096
TERA = 1e12
ROUNDING = 1e-12
MB = 1e6
SINGLE = Formats(weight_bytes=4.0, cache_bytes=4.0)


@cache
def _both_parts() -> tuple[dict[str, float], dict[str, float]]:
    """Seconds and FLOPs of reading the prompt, and of writing the rest of the answer."""
    work = work_of("Llama 2 7B")
    read = prefill_step(work, PROMPT)  # it also writes the first token
    steps = [decode_step(work, 1, PROMPT + i) for i in range(1, ANSWER)]
    seconds = {
        "prefill": bound(read, H100).seconds,
        "decode": sum(bound(step, H100).seconds for step in steps),
    }
    return seconds, {"prefill": read.flops, "decode": sum(step.flops for step in steps)}


def _part(name: str) -> Fact:
    seconds, flops = _both_parts()
    return Fact(
        text=f"{seconds[name] * 1e3:,.0f} ms",
        how=f"Llama 2 7B on an H100, {flops[name] / TERA:.1f} TFLOP",
        source=H100.source,
    )


def _slower() -> Fact:
    seconds, _ = _both_parts()
    return Fact(text=max(seconds, key=lambda name: seconds[name]))


def _more_flops() -> Fact:
    _, flops = _both_parts()
    return Fact(text=f"{flops['prefill'] / flops['decode']:.0f}", how="prefill ÷ decode, FLOPs")


def _doubling() -> Fact:
    """How attention grows when the text is twice as long: in a step, and in a whole prefill."""
    block = classic(WIDTH)
    step = block.attention_flops(2 * PROMPT) / block.attention_flops(PROMPT)
    whole = block.causal_keys(2 * PROMPT) / block.causal_keys(PROMPT)
    return Fact(text=f"{step:.0f} and {whole:.0f}", how=f"from {PROMPT:,} to {2 * PROMPT:,} tokens")


def _prefill_is_decodes() -> Fact:
    block = classic(WIDTH)
    steps = sum(block.decode_flops(t) for t in range(1, PROMPT + 1))
    return Fact(text=f"{steps - block.prefill_flops(PROMPT)}", how="sum of steps − prefill, FLOPs")


def _batch_doubled() -> Fact:
    rates = [n / bound(step_that_fits(n, 8_192), H100).seconds for n in (16, 32)]
    return Fact(
        text=f"{rates[1] / rates[0]:.2f} times",
        how=f"{rates[1]:,.0f} ÷ {rates[0]:,.0f} tokens a second",
        source=H100.source,
    )


@cache
def _longest_sweep() -> tuple[int, Step]:
    """Tokens at the right end of the measured curves, and a step of one sequence there."""
    rows = json.loads((FOLDER / "smollm2-growth.json").read_text(encoding="utf-8"))["rows"]
    longest = max(row["context"] for row in rows if row["batch"] == 1)
    return longest, decode_step(work_of("SmolLM2-135M"), 1, longest, SINGLE)


def _rows_beside_weights() -> Fact:
    _, step = _longest_sweep()
    return Fact(
        text=f"{step.cache_bytes / step.weight_bytes:.0%}",
        how=f"{step.cache_bytes / MB:.0f} MB of rows ÷ {step.weight_bytes / MB:.0f} MB of weights, "
        "float32",
    )


def _rows_equal_weights() -> Fact:
    work = work_of("SmolLM2-135M")
    tokens = equal_traffic_batch(work, 1, SINGLE)  # of one token each: so many rows
    one = decode_step(work, 1, 1, SINGLE)
    return Fact(
        text=f"{round(tokens, -2):,.0f}",
        how=f"{one.weight_bytes:,.0f} bytes of weights ÷ {one.cache_bytes:,.0f} bytes a token",
    )


def _score_gap() -> Fact:
    import torch  # noqa: PLC0415 -- facts are listed without torch

    from model.positions import record_shift  # noqa: PLC0415

    q, k = torch.tensor([[1.0, 0.5, -0.5, 2.0], [0.3, 1.0, 2.0, -1.0]]).double()
    found = record_shift(q, k, n_places=8, shift=100)
    return Fact(
        text=f"{found.largest_change:.6g}" if found.largest_change > ROUNDING else "0",
        how=f"largest change of any of 64 scores: {found.largest_change:.1e}",
    )


def _rescale() -> Fact:
    import torch  # noqa: PLC0415 -- facts are listed without torch

    from model.attention.online_record import record_blocks  # noqa: PLC0415

    scores = torch.tensor([1.0, 3.0, 2.0, 5.0], dtype=torch.float64)
    values = torch.tensor([[10.0], [20.0], [30.0], [40.0]], dtype=torch.float64)
    return Fact(text=f"{record_blocks(scores, values, 2)[1].rescale:.3f}", how="exp(3 − 5)")


def _shared_blocks() -> Fact:
    tables = BlockTables(10, 4)
    first, second = list(range(15)), [*range(10), *range(20, 24)]
    table = tables.open(first)
    tables.grow(table, len(first))
    tables.remember(table, first)
    return Fact(text=f"{tables.open(second).n_tokens // 4}", how="10 ÷ 4, whole blocks only")


def _rows_left() -> Fact:
    from model.speculation_record import rows_after_refusal  # noqa: PLC0415

    return Fact(text=f"{rows_after_refusal(rows=20, drafts=4, stand=2)}", how="20 + 1 + 2")


@cache
def _three_beams_from_one() -> tuple[int, int]:
    """Copies when three beams continue one text of 18 rows: blocks of 4 rows, rows in a gather."""
    tables = BlockTables(20, 4)
    text = tables.open()
    tables.grow(text, 18)
    beams = [tables.fork(text) for _ in range(3)]
    tables.close(text)
    gathered = sum(beam.n_tokens for beam in beams)
    return sum(len(tables.grow(beam, 19)) for beam in beams), gathered


def _kept(order: tuple[str, ...]) -> Callable[[], Fact]:
    def kept() -> Fact:
        import torch  # noqa: PLC0415

        from model.sampling import Sampling  # noqa: PLC0415

        logits = torch.tensor([2.0, 1.0, 1.0, 0.5, -1.0], dtype=torch.float64)
        stages = Sampling(top_k=2, top_p=0.7, order=order).stages(logits)
        return Fact(
            text=f"{int(stages[-1].kept.sum())}",
            how="logits 2, 1, 1, 0.5, −1; top-k 2 and top-p 0.7",
        )

    return kept


def _heavy_hitter() -> Fact:
    import torch  # noqa: PLC0415

    from model.serving.eviction import heavy_hitters  # noqa: PLC0415

    received = torch.tensor([[2.8, 0.75, 0.75, 0.5, 0.2]])
    return Fact(text=", ".join(map(str, heavy_hitters(received, heavy=1, recent=2).tolist())))


@cache
def _tree() -> tuple[int, int]:
    """Rows added by the second of two texts, and rows of both in one tree."""
    tree = PrefixTree()
    tree.insert(list(range(1_000)))
    added = tree.insert([*range(600), *range(2_000, 2_400)]).added
    return added, len(tree)


def _drive_or_compute() -> Fact:
    work = work_of("Llama 3 8B")
    seconds = {
        "fetch": load_seconds(work, PROMPT, LINKS["nvme"]),
        "compute": recompute_seconds(work, PROMPT, H100),
    }
    return Fact(text=min(seconds, key=lambda name: seconds[name]))


FACTS: dict[str, Callable[[], Fact]] = {
    "prefill-time-7b": lambda: _part("prefill"),
    "decode-time-7b": lambda: _part("decode"),
    "slower-part-2048-200": _slower,
    "prefill-flops-over-decode": _more_flops,
    "attention-when-doubled": _doubling,
    "prefill-minus-decodes": _prefill_is_decodes,
    "batch-doubled-at-8192": _batch_doubled,
    "smollm2-longest-sweep": lambda: Fact(text=f"{_longest_sweep()[0]:,}", how="the last point"),
    "smollm2-rows-beside-weights": _rows_beside_weights,
    "smollm2-rows-equal-weights": _rows_equal_weights,
    "rotary-score-gap": _score_gap,
    "online-rescale": _rescale,
    "shared-blocks-10-of-4": _shared_blocks,
    "rows-after-refusal": _rows_left,
    "beam-blocks-copied": lambda: Fact(text=f"{_three_beams_from_one()[0]}", how="3 − 1"),
    "beam-rows-gathered": lambda: Fact(text=f"{_three_beams_from_one()[1]}", how="3 × 18"),
    "heavy-hitter-kept": _heavy_hitter,
    "tree-added": lambda: Fact(text=f"{_tree()[0]:,}", how="1,000 − 600"),
    "tree-tokens-two-chats": lambda: Fact(text=f"{_tree()[1]:,}", how="600 + 400 + 400"),
    "drive-or-compute": _drive_or_compute,
    "kept-k-then-p": _kept(("temperature", "top-k", "top-p", "min-p")),
    "kept-p-then-k": _kept(("temperature", "top-p", "top-k", "min-p")),
}
