"""Numbers lesson 2 quotes about heads, layers and the trained variants; its computed answers.

Torch is loaded by the first of them that is asked for, not by listing them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from model.config import DecoderConfig
from model.facts import Fact

BYTES_16_BIT = 2
KIB = 2**10
EXAMPLE = "The black cat sees a white bird."
MLA_SOURCE = "DeepSeek-V2, arXiv 2405.04434"


# --- the trained variants ----------------------------------------------------------------------


def _variant(name: str, what: str) -> Fact:
    from model.toy.variants.results import result  # noqa: PLC0415

    found = result(name)
    seeds = ", ".join(f"{100 * one:.1f}" for one in found.grammar)
    how = f"three seeds: {seeds} % of {found.sentences:,} unseen sentences"
    if what == "spread":
        return Fact(text=f"{100 * found.spread:.1f}", how=how)
    return Fact(text=f"{100 * found.median:.1f} %", how=how)


def _numbers(name: str) -> Fact:
    from model.toy.variants.catalogue import VARIANTS  # noqa: PLC0415 - loads torch

    return Fact(text=str(VARIANTS[name].numbers_per_token), how=VARIANTS[name].says)


def _steps() -> Fact:
    from model.toy.variants.results import result  # noqa: PLC0415

    found = result("mha")
    return Fact(text=f"{found.steps:,}", how=found.command)


def _published(score: str) -> Fact:
    """Average over the tasks of the GQA paper's table 1, models of T5-XXL's size."""
    return Fact(text=score, how="average over seven tasks", source="GQA, arXiv 2305.13245, table 1")


def _n_sentences() -> str:
    from model.toy.variants.results import result  # noqa: PLC0415

    return f"{result('mha').sentences:,}"


# --- heads -------------------------------------------------------------------------------------


def _reads(query_head: int, n_heads: int, n_kv_heads: int) -> Fact:
    """Which key/value head a query head reads, both counted from 1."""
    import torch  # noqa: PLC0415 - only when asked

    from model.attention.attend import share_heads  # noqa: PLC0415 - loads torch

    shared = share_heads(torch.arange(n_kv_heads).reshape(n_kv_heads, 1, 1), n_heads).flatten()
    head = int(shared[query_head - 1]) + 1
    group = n_heads // n_kv_heads
    return Fact(text=f"key-value head {head}", how=f"⌊({query_head} − 1) / {group}⌋ + 1")


def _factor(n_heads: int, n_kv_heads: int) -> Fact:
    plain = replace(DecoderConfig(), n_heads=n_heads, n_kv_heads=n_heads)
    times = plain.numbers_per_token // replace(plain, n_kv_heads=n_kv_heads).numbers_per_token
    return Fact(text=f"{times} times", how=f"{n_heads} / {n_kv_heads}")


def _scores_with_fewer_heads() -> str:
    """Compare the attention work of a layer with 32 and with 8 key/value heads."""
    from model.work import dense_layer  # noqa: PLC0415

    sizes = {"d_model": 4096, "heads": 32, "d_head": 128, "d_ff": 1, "feed_forward_matrices": 3}
    many, few = (dense_layer(**sizes, kv_heads=n).attention_flops(4096) for n in (32, 8))
    return "same" if many == few else "fewer"


def _llama(n_kv_heads: int) -> Fact:
    config = replace(DecoderConfig(), n_layers=32, n_heads=32, n_kv_heads=n_kv_heads, d_head=128)
    n_bytes = config.numbers_per_token * BYTES_16_BIT
    return Fact(
        text=f"{n_bytes // KIB} KiB",
        how=f"32 layers · 2 · {n_kv_heads} heads · 128 · 2 bytes = {n_bytes:,} bytes",
        source="meta-llama/Meta-Llama-3-8B config.json",
    )


# --- MLA ---------------------------------------------------------------------------------------


def _mla_config(what: str) -> Fact:
    from model.attention.latent import LatentConfig  # noqa: PLC0415 - loads torch

    config = LatentConfig(n_heads=128, d_head=128, d_rope=64, d_value=128, d_latent=512)
    heads = replace(DecoderConfig(), n_heads=128, n_kv_heads=128, d_head=128)
    told = {
        "mha": (heads.numbers_per_layer, "2 · 128 heads · 128"),
        "expanded": (config.expanded_numbers_per_layer, "128 heads · (128 + 64 + 128)"),
        "expansion": (
            2 * config.d_latent * config.n_heads * (config.d_head + config.d_value),
            "2 · 512 · 128 heads · (128 + 128)",
        ),
    }
    n, how = told[what]
    return Fact(text=f"{n:,}", how=how, source=MLA_SOURCE)


def _kept_by_mla() -> str:
    """Say what the toy's MLA cache holds, from its measured bytes."""
    from model.toy.variants.catalogue import VARIANTS  # noqa: PLC0415 - loads torch
    from model.toy.variants.run import latents  # noqa: PLC0415

    found = latents(EXAMPLE)
    numbers = found.cache_bytes // found.latent.itemsize // len(found.words)
    return "latent" if numbers == VARIANTS["mla"].numbers_per_token else "keys"


def _rotation_can_be_folded() -> str:
    """Try it: turn expanded keys by their place, and turn latents before expanding them."""
    import torch  # noqa: PLC0415 - only when asked

    from model.rope import rotate  # noqa: PLC0415 - loads torch

    latent, up = torch.eye(4, dtype=torch.float64)[None], torch.ones(4, 4, dtype=torch.float64)
    places = torch.arange(4)
    apart = (rotate(latent @ up, places) - rotate(latent, places) @ up).abs().max()
    return "yes" if float(apart) < 1e-9 else "no"  # noqa: PLR2004 - rounding


# --- layers ------------------------------------------------------------------------------------


def _cla_owners(share: int) -> Fact:
    from model.attention.shared import SharedConfig  # noqa: PLC0415 - loads torch

    owners = SharedConfig(n_layers=20, share=share).owners
    return Fact(text=str(len(owners)), how="layers " + ", ".join(str(n + 1) for n in owners))


def _cla_reads() -> str:
    """Compare the rows a decode step reads with shared stores and with none shared."""
    from model.sharing import reads_of  # noqa: PLC0415

    rows = [100] * 20
    shared = reads_of([layer - layer % 2 for layer in range(20)], rows)
    return "same" if shared == reads_of(range(20), rows) else "half"


def _yoco_prefill(n_tokens: int) -> Fact:
    from model.sharing import prefill_positions  # noqa: PLC0415

    early, full = (sum(prefill_positions(20, n_tokens, n_upper)) for n_upper in (10, 0))
    return Fact(
        text=f"{early / full:.1%}",
        how=f"(10 · {n_tokens:,} + 10) / (20 · {n_tokens:,}) positions",
        source="YOCO, arXiv 2405.05254",
    )


# --- fewer bits --------------------------------------------------------------------------------


def _two_bit_error(kind: str, by: str) -> Fact:
    """Root mean square error of the example's rows in 2 bits, grouped along one axis."""
    import torch  # noqa: PLC0415 - only when asked

    from model.storage.kivi import decode_groups, encode_groups  # noqa: PLC0415 - loads torch
    from model.toy.record import record  # noqa: PLC0415

    last = record(EXAMPLE).cached.steps[-1].layers
    rows = torch.stack([torch.tensor(getattr(layer.attention, kind)) for layer in last])
    rows = rows[..., : rows.shape[-2] // 4 * 4, :]
    grouped = (rows.mT if by == "channel" else rows).unflatten(-1, (-1, 4))
    error = (decode_groups(encode_groups(grouped, 2), 2) - grouped).square().mean().sqrt()
    return Fact(
        text=f"{float(error):.3f}",
        how=f"root mean square over both layers and heads, groups of 4 along one {by}",
    )


FACTS: dict[str, Callable[[], Fact | str]] = {
    "variants-steps": _steps,
    "t5-xxl-mha": partial(_published, "47.2"),
    "t5-xxl-gqa-8": partial(_published, "47.1"),
    "t5-xxl-mqa": partial(_published, "46.6"),
    "variants-sentences": _n_sentences,
    "variant-mha-median": partial(_variant, "mha", "median"),
    "variant-mha-spread": partial(_variant, "mha", "spread"),
    "variant-mqa-median": partial(_variant, "mqa", "median"),
    "variant-cla-median": partial(_variant, "cla", "median"),
    "variant-mla-median": partial(_variant, "mla", "median"),
    "variant-window-median": partial(_variant, "window", "median"),
    "variant-four-heads-median": partial(_variant, "four-heads", "median"),
    "variant-four-heads-gqa-median": partial(_variant, "four-heads-gqa", "median"),
    "variant-four-heads-mqa-median": partial(_variant, "four-heads-mqa", "median"),
    "four-heads-numbers": partial(_numbers, "four-heads"),
    "four-heads-gqa-numbers": partial(_numbers, "four-heads-gqa"),
    "four-heads-mqa-numbers": partial(_numbers, "four-heads-mqa"),
    "mla-toy-numbers": partial(_numbers, "mla"),
    "query-head-3-reads": partial(_reads, 3, 4, 2),
    "gqa-64-on-8": partial(_factor, 64, 8),
    "scores-with-fewer-heads": _scores_with_fewer_heads,
    "llama-3-8b-per-token": partial(_llama, 8),
    "llama-3-8b-ungrouped-per-token": partial(_llama, 32),
    "mla-against-mha": partial(_mla_config, "mha"),
    "mla-against-expanded": partial(_mla_config, "expanded"),
    "mla-expansion-flops": partial(_mla_config, "expansion"),
    "kept-by-mla": _kept_by_mla,
    "rotation-can-be-folded": _rotation_can_be_folded,
    "cla-3-owners": partial(_cla_owners, 3),
    "cla-2-owners": partial(_cla_owners, 2),
    "cla-reads": _cla_reads,
    "yoco-prefill-131072": partial(_yoco_prefill, 131_072),
    "two-bit-keys-by-channel": partial(_two_bit_error, "k", "channel"),
    "two-bit-keys-by-token": partial(_two_bit_error, "k", "token"),
}
