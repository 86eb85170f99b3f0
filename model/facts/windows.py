"""Numbers lesson 3 quotes: what windows and sparse patterns keep, read and reach.

Torch is loaded by the first of them that is asked for, not by listing them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from model.config import DecoderConfig
from model.facts import Fact

BYTES_16_BIT = 2
MIB = 2**20
GPT_OSS_SOURCE = "openai/gpt-oss, gpt_oss/torch/model.py"


def _mistral_reach() -> Fact:
    from model.stacks import receptive_field  # noqa: PLC0415 - loads torch

    return Fact(
        text=f"{receptive_field([4096] * 32):,}",
        how="32 layers · (4,096 − 1) + 1",
        source="Mistral 7B, arXiv 2310.06825",
    )


def _stack_share(stack: str, n_layers: int, n_tokens: int, decimals: int) -> Fact:
    from model import stacks  # noqa: PLC0415 - loads torch

    layers = {"gemma-2": stacks.gemma_2, "gemma-3": stacks.gemma_3, "gpt-oss": stacks.gpt_oss}
    kept = layers[stack](n_layers)
    rows = sum(stacks.rows_kept(kept, n_tokens))
    return Fact(
        text=f"{stacks.share_kept(kept, n_tokens):.{decimals}%}",
        how=f"{rows:,} rows of {n_layers} · {n_tokens:,}; {kept.count(None)} layers are global",
        source={
            "gemma-2": "Gemma 2, arXiv 2408.00118",
            "gemma-3": "Gemma 3, arXiv 2503.19786",
            "gpt-oss": GPT_OSS_SOURCE,
        }[stack],
    )


def _gpt_oss_bytes(n_tokens: int) -> Fact:
    from model.stacks import gpt_oss, rows_kept  # noqa: PLC0415 - loads torch

    row_bytes = (
        BYTES_16_BIT
        * replace(DecoderConfig(), n_heads=64, n_kv_heads=8, d_head=64).numbers_per_layer
    )
    n_bytes = row_bytes * sum(rows_kept(gpt_oss(36), n_tokens))
    return Fact(
        text=f"{n_bytes / MIB:,.1f} MiB",
        how=f"18 · (128 + {n_tokens:,}) rows · {row_bytes:,} bytes = {n_bytes:,} bytes",
        source=GPT_OSS_SOURCE,
    )


def _sparse_pairs(pattern: str, side: int) -> Fact:
    from model import patterns  # noqa: PLC0415 - loads torch

    n = side * side
    made = {"fixed": patterns.fixed(side, 1), "strided": patterns.strided(side)}
    made["causal"] = patterns.causal()
    return Fact(
        text=f"{made[pattern].n_pairs(n):,}",
        how=f"{n:,} tokens, blocks of {side}",
        source="Child et al. 2019, arXiv 1904.10509",
    )


FACTS: dict[str, Callable[[], Fact]] = {
    "mistral-receptive-field": _mistral_reach,
    "gemma-2-9b-share-at-8192": partial(_stack_share, "gemma-2", 42, 8192, 0),
    "gemma-3-27b-share-at-32768": partial(_stack_share, "gemma-3", 62, 32_768, 2),
    "gemma-3-27b-share-at-131072": partial(_stack_share, "gemma-3", 62, 131_072, 1),
    "gpt-oss-120b-share-at-131072": partial(_stack_share, "gpt-oss", 36, 131_072, 2),
    "gpt-oss-120b-cache-at-131072": partial(_gpt_oss_bytes, 131_072),
    "gpt-oss-120b-cache-at-4096": partial(_gpt_oss_bytes, 4096),
    "sparse-fixed-pairs-1024": partial(_sparse_pairs, "fixed", 32),
    "sparse-strided-pairs-1024": partial(_sparse_pairs, "strided", 32),
    "causal-pairs-1024": partial(_sparse_pairs, "causal", 32),
}
