"""What the variants' runs send to the browser, as `recording` does for the plain run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from figures.recording import packed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from model.toy.stored import Format, Stored
    from model.toy.trace import Trace
    from model.toy.variants.run import Grouped, Latents, Written

END, START = "⟨end⟩", "⟨start⟩"


def shown(trace: Trace, word: str) -> str:
    """Spell a word as the plain run's words are spelt."""
    return {trace.start: START, trace.end: END}.get(word) or trace.shown(word)


def variants(trace: Trace, written: Mapping[str, Written]) -> dict[str, Any]:
    """Words of every trained variant, and which of them differ from the plain one's."""
    return {
        "variants": {
            name: {
                "words": [shown(trace, word) for word in one.words],
                "changed": one.changed,
                "right": one.right,
                "bytes": one.cache_bytes,
            }
            for name, one in written.items()
        },
        **packed({"variants.n_words": np.array([len(one.words) for one in written.values()])}),
    }


def heads(found: Mapping[int, Grouped], tiled_gap: float) -> dict[str, Any]:
    """Rows and counts of four query heads on 4, 2 and 1 key/value heads."""
    arrays = {}
    for n, one in found.items():
        arrays |= {f"heads.{n}.k": one.k, f"heads.{n}.v": one.v}
    return {
        "heads": {
            str(n): {
                "bytes": one.cache_bytes,
                "scores": one.scores,
                "multiply_adds": one.multiply_adds,
            }
            for n, one in found.items()
        },
        "tiled_gap": tiled_gap,
        **packed(arrays),
    }


def latent(trace: Trace, found: Latents) -> dict[str, Any]:
    """MLA's cache of one run, and the two ways to read it."""
    return {
        "latent": {
            "fed": [START, *(shown(trace, word) for word in found.words[:-1])],
            "bytes": found.cache_bytes,
            "gap": float(found.gap.max()),
        },
        **packed(
            {
                "latent.latent": found.latent,
                "latent.rope": found.rope_key,
                "latent.k": found.expanded_keys,
                "latent.q": found.expanded_query,
                "latent.absorbed": found.absorbed_query,
                "latent.scores": found.expanded_scores,
                "latent.absorbed_scores": found.absorbed_scores,
            }
        ),
    }


def stored(trace: Trace, found: Mapping[str, tuple[Format, Stored]]) -> dict[str, Any]:
    """A run's rows in every smaller store, with codes and scales."""
    arrays = {}
    for name, (_, one) in found.items():
        for kind, value, codes in zip("kv", (one.k, one.v), one.codes, strict=True):
            parts = {"": value, ".units": codes.units, ".scale": codes.scale, ".zero": codes.zero}
            arrays |= {f"stored.{name}.{kind}{part}": array for part, array in parts.items()}
    return {
        "stored": {
            name: {
                "bytes": one.cache_bytes,
                "waiting": waiting(trace, one),
                "moved": float(one.logits_moved.max()),
                "words": [shown(trace, word) for word in one.likeliest],
                "n_changed": sum(a != b for a, b in zip(one.likeliest, trace.words, strict=True)),
                "error": {
                    kind: float(abs(value - exact).max())
                    for kind, value, exact in errors(trace, one)
                },
            }
            for name, (_, one) in found.items()
        },
        **packed(arrays),
    }


def waiting(trace: Trace, one: Stored) -> int:
    """Bytes of the newest rows, which KIVI keeps as they are until their group is full."""
    rows = zip(errors(trace, one), one.codes, strict=True)
    alike = ((value, (value == exact) & (codes.scale == 0)) for (_, value, exact), codes in rows)
    return sum(int(same.sum()) * value.itemsize for value, same in alike)


def errors(trace: Trace, one: Stored) -> list[tuple[str, Any, Any]]:
    last = [layer.attention for layer in trace.cached.steps[-1].layers]
    return [("k", one.k, [a.k for a in last]), ("v", one.v, [a.v for a in last])]
