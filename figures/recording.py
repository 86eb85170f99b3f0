"""A recording as the browser takes it: named arrays, the words, and the numbers the prose quotes.

The axes are (layer, head, step, number) unless said; a step's own row is the last written. All
arrays travel as one block of float64, so that a number drawn is the number computed.
"""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from model.toy.comparisons import Comparisons
from model.toy.trace import Run, Trace

MAX_LEFT_SHOWN = 12


def payload(trace: Trace, max_words: int) -> dict[str, Any]:
    """Everything the figures draw of one run, as plain data."""
    return {
        "text": trace.reading.text,
        "tokens": [{"typed": t.typed, "read": t.read, "why": t.why} for t in trace.reading.tokens],
        "left": list(trace.reading.left[:MAX_LEFT_SHOWN]),
        "n_left": trace.reading.n_left,
        "dropped": trace.reading.n_dropped,
        "limit": max_words,
        "source": [shown(trace, word) for word in trace.source],
        "fed": [shown(trace, step.fed[-1]) for step in trace.cached.steps],
        "words": [shown(trace, word) for word in trace.words],
        "output": trace.sentence,
        "finished": trace.finished,
        "same_words": trace.same_words,
        "vocabulary": len(trace.vocabulary),
        "sizes": {
            "numbers_per_token": trace.numbers_per_token,
            "cache_bytes": trace.cache_bytes,
            "max_abs_diff": trace.max_abs_diff,
        },
        "cross": _cross(trace),
        "live": live(trace),
        **packed(_arrays(trace)),
    }


def extras(trace: Trace, compared: Comparisons) -> dict[str, Any]:
    """What lesson 1 sets beside the run; sent after it, since it takes longer."""
    wrong = compared.first_place
    return {
        "text": trace.reading.text,
        "prefill": [vars(cut) for cut in compared.cuts],
        "zero": {
            "words": [shown(trace, _likeliest(trace, step)) for step in wrong.steps],
            "n_wrong": sum(
                _likeliest(trace, step) != word
                for step, word in zip(wrong.steps, trace.words, strict=True)
            ),
        },
        **packed(
            {
                "bidirectional.k": _moving_keys(compared.bidirectional),
                "gap.blas": compared.blas_gap,
                "zero.x": _rows(wrong, lambda step: step.embedded.x[-1]),
                "zero.input": _inputs(wrong),
                "zero.q": _by_step(wrong, lambda a: a.q[:, -1]),
                "zero.k": _by_step(wrong, lambda a: a.k[:, -1]),
                "zero.v": _by_step(wrong, lambda a: a.v[:, -1]),
            }
        ),
    }


def packed(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Arrays as one base64 block and a directory of names, offsets and shapes."""
    directory, offset = {}, 0
    for name, array in arrays.items():
        directory[name] = {"offset": offset, "shape": array.shape}
        offset += array.size
    block = np.concatenate([np.ravel(array).astype("<f8") for array in arrays.values()])
    return {"arrays": directory, "data": base64.b64encode(block.tobytes()).decode("ascii")}


def shown(trace: Trace, word: str) -> str:
    """A word as the page prints it: marks in brackets, carried words as typed."""
    return {trace.start: "⟨start⟩", trace.end: "⟨end⟩"}.get(word) or trace.shown(word)


def _likeliest(trace: Trace, step: Any) -> str:
    return trace.vocabulary[int(step.probabilities.argmax())]


def _arrays(trace: Trace) -> dict[str, np.ndarray]:
    run, last = trace.cached, trace.cached.steps[-1].layers
    n = len(run.steps)
    pairs = list(zip(trace.naive.steps, run.steps, strict=True))
    return {
        "memory": trace.encoder.memory,
        "embedding": _rows(run, lambda step: step.embedded.embedding[-1]),
        "position": _rows(run, lambda step: step.embedded.position[-1]),
        "x": _rows(run, lambda step: step.embedded.x[-1]),
        "input": _inputs(run),
        "q": _by_step(run, lambda a: a.q[:, -1]),
        "k": np.stack([layer.attention.k for layer in last]),
        "v": np.stack([layer.attention.v for layer in last]),
        "scores": _by_step(run, lambda a: _padded(a.scores[:, -1], n)),
        "weights": _by_step(run, lambda a: _padded(a.weights[:, -1], n)),
        "mixed": _by_step(run, lambda a: a.heads[:, -1]),
        "naive.k": _moving_keys(trace.naive),
        "cross.k": np.stack([kept.k for kept in run.cross]),
        "cross.v": np.stack([kept.v for kept in run.cross]),
        "cross.weights": np.stack(
            [np.stack([s.layers[i].cross.weights[:, -1] for s in run.steps], 1) for i in range(2)]
        ),
        "probability.cached": np.array([step.probability for step in run.steps]),
        "probability.naive": np.array([step.probability for step in trace.naive.steps]),
        "gap.fixed": np.array([np.abs(a.logits - b.logits).max() for a, b in pairs]),
        "count.naive.positions": _so_far(trace.naive),
        "count.cached.positions": _so_far(run),
        "count.cached.numbers": np.array(
            [sum(a.k.size + a.v.size for a in _attentions(step)) for step in run.steps], float
        ),
    }


def _attentions(step: Any) -> list[Any]:
    return [layer.attention for layer in step.layers]


def _so_far(run: Run) -> np.ndarray:
    return np.cumsum([step.work.positions for step in run.steps]).astype(float)


def _rows(run: Run, row: Any) -> np.ndarray:
    return np.stack([row(step) for step in run.steps])


def _by_step(run: Run, row: Any) -> np.ndarray:
    """One row a step and head: [layer, head, step, number]."""
    n_layers = len(run.steps[0].layers)
    return np.stack(
        [np.stack([row(s.layers[i].attention) for s in run.steps], 1) for i in range(n_layers)]
    )


def _inputs(run: Run) -> np.ndarray:
    """The row each decoder layer reads at each step: [layer, step, number]."""
    first = _rows(run, lambda step: step.embedded.x[-1])
    rest = [
        _rows(run, lambda step, i=i: step.layers[i].norm3[-1])
        for i in range(len(run.steps[0].layers) - 1)
    ]
    return np.stack([first, *rest])


def _moving_keys(run: Run) -> np.ndarray:
    """All keys as computed at each step: [step, layer, head, position, number], zero-padded."""
    n = len(run.steps)
    heads, _, width = run.steps[0].layers[0].attention.k.shape
    keys = np.zeros((n, len(run.steps[0].layers), heads, n, width))
    for t, step in enumerate(run.steps):
        for i, attention in enumerate(_attentions(step)):
            keys[t, i, :, : attention.k.shape[1]] = attention.k
    return keys


def _padded(row: np.ndarray, width: int) -> np.ndarray:
    return np.pad(row, ((0, 0), (0, width - row.shape[-1])))


def _cross(trace: Trace) -> dict[str, Any]:
    """Size of the cross store, and the most any of its numbers changed over all naive steps."""
    kept = trace.cached.cross
    change = max(
        max(np.abs(layer.cross.k - store.k).max(), np.abs(layer.cross.v - store.v).max())
        for step in trace.naive.steps
        for layer, store in zip(step.layers, kept, strict=True)
    )
    return {
        "bytes": trace.cross_bytes,
        "numbers": sum(store.k.size + store.v.size for store in kept),
        "max_change": float(change),
    }


def _on_the_first(trace: Trace) -> tuple[float, float]:
    """Mean share of self-attention that later words put on the first, and an even share.

    Over all layers and heads. A run of one step has no later word, and reads itself alone.
    """
    steps = trace.cached.steps[1:] or trace.cached.steps
    rows = [one.weights[:, -1] for step in steps for one in _attentions(step)]
    found = np.mean([row[:, 0].mean() for row in rows])
    return float(found), float(np.mean([1 / row.shape[-1] for row in rows]))


def live(trace: Trace) -> dict[str, dict[str, str]]:
    """Numbers of this run that the prose quotes, each with how it came about."""
    n = len(trace.words)
    naive, cached = trace.naive.work, trace.cached.work
    never = int((trace.cached.steps[0].probabilities == 0).sum())
    first, even = _on_the_first(trace)
    measured = "counted while this sentence ran"
    told = {
        "n-read": (f"{len(trace.reading.tokens)}", "words the toy reads of this sentence"),
        "n-source": (f"{len(trace.source)}", "words read and the end mark"),
        "n-steps": (f"{n}", "words written, the end mark included"),
        "positions-naive": (f"{naive.positions:,}", f"{measured}; n(n+1)/2 for n = {n}"),
        "positions-cached": (f"{cached.positions:,}", measured),
        "scores-naive": (f"{naive.self_scores:,}", measured),
        "scores-cached": (f"{cached.self_scores:,}", measured),
        "flops-naive": (f"{naive.flops:,}", measured),
        "flops-cached": (f"{cached.flops:,}", measured),
        "vocabulary": (f"{len(trace.vocabulary)}", "words it knows, marks included"),
        "never-written": (f"{never}", "logits left out before each word is chosen"),
        "numbers-per-token": (f"{trace.numbers_per_token}", "counted on the kept tensors"),
        "cache-bytes": (f"{trace.cache_bytes:,}", "nbytes of the kept tensors"),
        "cross-bytes": (f"{trace.cross_bytes:,}", "nbytes of the kept tensors"),
        "first-token-weight": (f"{first:.0%}", "mean over layers, heads and words after the first"),
        "first-token-even": (f"{even:.0%}", "1 ÷ words read so far, mean over the same words"),
        "max-abs-diff": (f"{trace.max_abs_diff}", "largest difference over all logits"),
    }
    return {name: {"text": text, "how": how} for name, (text, how) in told.items()}
