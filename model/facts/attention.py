"""Numbers lesson 2 quotes: what sharing, compressing and rounding save.

Torch is loaded by the first of them that is asked for, not by listing them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from model.config import DecoderConfig
from model.facts import Fact

BYTES_16_BIT = 2
MIB = 2**20
MLA_SOURCE = "DeepSeek-V2, arXiv 2405.04434"
FLASH_SOURCE = "DeepSeek-V4.1-Flash technical report and config.json"


# --- MLA ---------------------------------------------------------------------------------------


def _mla(what: str) -> Fact:
    from model.attention.latent import LatentConfig  # noqa: PLC0415 - loads torch

    config = LatentConfig(n_heads=128, d_head=128, d_rope=64, d_value=128, d_latent=512)
    heads = replace(DecoderConfig(), n_heads=128, n_kv_heads=128, d_head=128)
    latent = config.numbers_per_layer
    others = {
        "mha": (heads.numbers_per_layer, "2 · 128 heads · 128"),
        "expanded": (config.expanded_numbers_per_layer, "128 heads · (128 + 64 + 128)"),
        "gqa-8": (replace(heads, n_kv_heads=8).numbers_per_layer, "2 · 8 heads · 128"),
    }
    if what == "latent":
        return Fact(text=f"{latent:,}", how="512 + 64", source=MLA_SOURCE)
    other, how = others[what]
    decimals = 2 if what == "gqa-8" else 1
    return Fact(
        text=f"{other / latent:.{decimals}f}",
        how=f"{how} = {other:,}; {other:,} / {latent:,}",
        source=MLA_SOURCE,
    )


# --- DeepSeek-V4.1-Flash -----------------------------------------------------------------------


def _flash(part: str) -> Fact:
    from model.attention.compressed.config import (  # noqa: PLC0415 - loads torch
        FLASH,
        INDEX_ROW,
        MAIN_ROW,
    )

    entries = float(FLASH.entries_per_token)
    rows = {"main": MAIN_ROW.row_bytes(FLASH.d_head), "index": INDEX_ROW.row_bytes(FLASH.d_index)}
    if part in rows:
        n_bytes = entries * rows[part]
        how = f"{entries:g} entries · {rows[part]} bytes"
        return Fact(text=f"{n_bytes:,.0f}", how=how, source=FLASH_SOURCE)
    total = FLASH.bytes_per_token(MAIN_ROW, INDEX_ROW)
    how = f"{entries:g} entries · ({rows['main']} + {rows['index']}) bytes"
    return Fact(text=f"{float(total):,.0f}", how=how, source=FLASH_SOURCE)


def _flash_unshared() -> Fact:
    from model.attention.compressed.config import FLASH  # noqa: PLC0415 - loads torch

    n_bytes = FLASH.n_layers * FLASH.d_head * BYTES_16_BIT
    how = f"{FLASH.n_layers} layers · {FLASH.d_head} numbers · {BYTES_16_BIT} bytes"
    return Fact(text=f"{n_bytes:,}", how=how, source=FLASH_SOURCE)


def _flash_windows() -> Fact:
    from model.attention.compressed.config import FLASH, WINDOW_ROW  # noqa: PLC0415 - loads torch

    n_bytes = FLASH.window_bytes(WINDOW_ROW)
    row = WINDOW_ROW.row_bytes(FLASH.d_head)
    how = f"{FLASH.n_layers} layers · {FLASH.window} rows · {row} bytes = {n_bytes:,} bytes"
    return Fact(text=f"{n_bytes / MIB:.2f} MiB", how=how, source=FLASH_SOURCE)


def _flash_kind(kind: str) -> Fact:
    from model.attention.compressed.config import FLASH  # noqa: PLC0415 - loads torch

    layers = [layer for layer in range(FLASH.n_layers) if FLASH.kind(layer) == kind]
    how = "layers " + ", ".join(str(layer) for layer in layers)
    return Fact(text=f"{len(layers)}", how=how, source=FLASH_SOURCE)


# --- fewer bits --------------------------------------------------------------------------------


def _bits(codec: str, width: int, how: str) -> Fact:
    from model.storage.codecs import CODECS  # noqa: PLC0415 - loads torch

    return Fact(text=f"{CODECS[codec].bits_per_value(width):g}", how=how)


def _kivi(n_bits: int, n_tokens: int) -> Fact:
    import torch  # noqa: PLC0415 - only when asked

    from model.storage import STORAGE  # noqa: PLC0415 - loads torch
    from model.storage.base import Room  # noqa: PLC0415 - loads torch

    room = Room(kv_heads=1, d_key=128, d_value=128, capacity=1, dtype=torch.float16)
    store = STORAGE[f"kivi-{n_bits}"](room)
    rows = torch.zeros(1, n_tokens, 128, dtype=torch.float16)
    store.append(rows, rows)
    whole = BYTES_16_BIT * n_tokens * room.numbers_per_token
    how = f"a head of 128: {whole:,} bytes at 16 bit, {store.nbytes:,} measured"
    return Fact(text=f"{whole / store.nbytes:.1f}", how=how, source="KIVI, arXiv 2402.02750")


# --- sharing across layers ---------------------------------------------------------------------


def _cla(share: int) -> Fact:
    from model.attention.shared import SharedConfig  # noqa: PLC0415 - loads torch

    config = SharedConfig(n_layers=20, n_heads=16, n_kv_heads=1, d_head=128, share=share)
    owners = len(config.owners)
    return Fact(
        text=f"{BYTES_16_BIT * config.numbers_per_token:,}",
        how=f"{owners} owners · 2 · 1 head · 128 · {BYTES_16_BIT} bytes",
        source="CLA, arXiv 2405.12981",
    )


def _yoco() -> Fact:
    from model.attention.yoco import YocoConfig  # noqa: PLC0415 - loads torch

    n_tokens, config = 131_072, YocoConfig(n_layers=20, window=1024)
    whole = config.n_layers * config.numbers_per_layer * n_tokens
    return Fact(
        text=f"{config.cached_numbers(n_tokens) / whole:.1%}",
        how=f"({n_tokens:,} + 10 · 1,024) / (20 · {n_tokens:,}) rows",
        source="YOCO, arXiv 2405.05254",
    )


FACTS: dict[str, Callable[[], Fact]] = {
    "mla-numbers-per-layer": partial(_mla, "latent"),
    "mla-smaller-than-mha": partial(_mla, "mha"),
    "mla-smaller-than-expanded": partial(_mla, "expanded"),
    "mla-smaller-than-gqa-8": partial(_mla, "gqa-8"),
    "v4-flash-bytes-per-token": partial(_flash, "all"),
    "v4-flash-main-bytes": partial(_flash, "main"),
    "v4-flash-index-bytes": partial(_flash, "index"),
    "v4-flash-unshared-bytes": _flash_unshared,
    "v4-flash-window-bytes": _flash_windows,
    "v4-flash-window-layers": partial(_flash_kind, "window"),
    "v4-flash-full-layers": partial(_flash_kind, "full"),
    "v4-flash-reindex-layers": partial(_flash_kind, "reindex"),
    "v4-flash-reuse-layers": partial(_flash_kind, "reuse"),
    "fp4-bits-per-value": partial(_bits, "fp4", 512, "4 + 8 / 16"),
    "mxfp4-bits-per-value": partial(_bits, "mxfp4", 128, "4 + 8 / 32"),
    "int8-bits-per-value": partial(_bits, "int8", 128, "8 + 32 / 128, a head of 128"),
    "kivi-2-smaller-at-1024": partial(_kivi, 2, 1024),
    "kivi-2-smaller-at-4096": partial(_kivi, 2, 4096),
    "cla-mqa-bytes": partial(_cla, 1),
    "cla-2-mqa-bytes": partial(_cla, 2),
    "cla-3-mqa-bytes": partial(_cla, 3),
    "yoco-share-at-131072": _yoco,
}
