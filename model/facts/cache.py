"""Numbers lesson 1 quotes, from the same functions that the figures and the tests call."""

from model import counts
from model.facts import Fact
from model.presets import LLAMA_2_7B, SMOLLM2_135M, Preset

BYTES_16_BIT = 2
KIB, GIB = 2**10, 2**30


def _naive(n_prompt: int, n_new: int) -> Fact:
    return Fact(
        text=f"{counts.positions_naive(n_prompt, n_new):,}",
        how=f"np + n(n−1)/2 = {n_new}·{n_prompt} + {n_new}·{n_new - 1}/2",
    )


def _cached(n_prompt: int, n_new: int) -> Fact:
    return Fact(
        text=f"{counts.positions_cached(n_prompt, n_new):,}",
        how=f"p + n − 1 = {n_prompt} + {n_new} − 1",
    )


def _scores_naive(n_prompt: int, n_new: int) -> Fact:
    return Fact(text=f"{counts.scores_naive(n_prompt, n_new):,}")


def _scores_cached(n_prompt: int, n_new: int) -> Fact:
    return Fact(
        text=f"{counts.scores_cached(n_prompt, n_new):,}",
        how=f"(p+n−1)(p+n)/2 with p = {n_prompt}, n = {n_new}",
    )


def _numbers(preset: Preset) -> int:
    return counts.numbers_per_token(
        preset.n_layers, preset.n_kv_heads, preset.d_head, preset.d_head
    )


def _llama(n_tokens: int) -> Fact:
    n_bytes = _numbers(LLAMA_2_7B) * BYTES_16_BIT * n_tokens
    return Fact(
        text=f"{n_bytes / GIB:g} GiB",
        how=f"{_numbers(LLAMA_2_7B):,} numbers × 2 bytes × {n_tokens:,} tokens = {n_bytes:,} bytes",
        source=LLAMA_2_7B.source,
    )


def _behind_a_bidirectional_mask() -> str:
    """Say what a later word does to an earlier key when all may read all, measured."""
    from model.toy.compare import compare  # noqa: PLC0415 -- only here is torch needed
    from model.toy.record import record  # noqa: PLC0415

    first, second = compare(record("the cat sees a bird")).bidirectional.steps[:2]
    before, after = (step.layers[1].attention.k[:, 0] for step in (first, second))
    return "move" if abs(before - after).max() > 0 else "stay"


def _kept_for_later() -> str:
    """What a toy step reads of earlier positions: the names its store hands back."""
    from model.toy.trace import KeysValues  # noqa: PLC0415

    return "".join(KeysValues.__dataclass_fields__)


def _cross_store_growth() -> str:
    """Measured: rows the cross store gains between the first step and the last."""
    from model.toy.record import record  # noqa: PLC0415

    steps = record("the cat sees a bird").cached.steps
    first, last = (step.layers[0].cross.k.shape[1] for step in (steps[0], steps[-1]))
    return "none" if first == last else "one"


def _place_after(n_cached: int) -> str:
    """The place, counted from 1, that the toy gives a word fed after ``n_cached`` rows."""
    from model.toy.decode import following  # noqa: PLC0415

    return str(following(n_cached, 1).start + 1)


def _dominant(n_prompt: int, n_new: int) -> str:
    """Which part computes more positions when the cache is on."""
    decode = counts.positions_cached(n_prompt, n_new) - n_prompt
    return "prompt" if n_prompt > decode else "answer"


def _growth_of_prefill_scores(n_tokens: int) -> str:
    twice = counts.scores_cached(2 * n_tokens, 1) / counts.scores_cached(n_tokens, 1)
    return f"{round(twice)} times"


FACTS = {
    "passes-naive-100-1000": _naive(100, 1_000),
    "passes-cached-100-1000": _cached(100, 1_000),
    "scores-naive-100-1000": _scores_naive(100, 1_000),
    "scores-cached-100-1000": _scores_cached(100, 1_000),
    "passes-naive-1-6": _naive(1, 6),
    "passes-cached-2000-200": _cached(2_000, 200),
    "llama-2-7b-cache-numbers": Fact(
        text=f"{_numbers(LLAMA_2_7B):,}",
        how="32 layers × 32 key-value heads × (128 + 128)",
        source=LLAMA_2_7B.source,
    ),
    "llama-2-7b-cache-per-token": Fact(
        text=f"{_numbers(LLAMA_2_7B) * BYTES_16_BIT / KIB:g} KiB",
        how=f"{_numbers(LLAMA_2_7B):,} numbers × 2 bytes",
        source=LLAMA_2_7B.source,
    ),
    "smollm2-shape": Fact(
        text=(
            f"{SMOLLM2_135M.n_layers} layers of {SMOLLM2_135M.n_heads} query heads "
            f"on {SMOLLM2_135M.n_kv_heads} key-value heads"
        ),
        source=SMOLLM2_135M.source,
    ),
    "llama-2-7b-cache-1024": lambda: _llama(1_024),
    "llama-2-7b-cache-2048": lambda: _llama(2_048),
    "llama-2-7b-cache-4096": lambda: _llama(4_096),
    "llama-2-7b-cache-32768": lambda: _llama(32_768),
    "bidirectional-rows": _behind_a_bidirectional_mask,
    "kept-for-later": _kept_for_later,
    "cross-store-growth": _cross_store_growth,
    "place-after-7": lambda: _place_after(7),
    "dominant-2000-200": lambda: _dominant(2000, 200),
    "prefill-scores-doubled": lambda: _growth_of_prefill_scores(4_096),
    "decode-scores-doubled": lambda: f"{(2 * 4_096) // 4_096} times",
}
