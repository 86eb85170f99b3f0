"""Run the toy again, a little differently, on the words it wrote."""

from functools import partial

import numpy as np
import torch

from model.toy import decode
from model.toy.arithmetic import Blas, FixedOrder
from model.toy.comparisons import Comparisons, Cut
from model.toy.masks import bidirectional, causal
from model.toy.network import Network
from model.toy.record import recorded_run, shipped, source_of
from model.toy.trace import Trace
from model.toy.vocabulary import vocabularies

CHUNK = 3


def cuts_of(n_positions: int) -> dict[str, list[int]]:
    """The three cuts the lesson shows; every other cut is covered by a test."""
    full, rest = divmod(n_positions, CHUNK)
    return {
        "In one pass": [n_positions],
        f"In chunks of {CHUNK}": [CHUNK] * full + [rest] * (rest > 0),
        "Word by word": [1] * n_positions,
    }


def compare(trace: Trace) -> Comparisons:
    """Everything lesson 1 sets beside a trace."""
    config, parameters = shipped()
    ids = vocabularies(config).french.ids
    choose = decode.forced([ids[word] for word in trace.words])
    fed = [ids[step.fed[-1]] for step in trace.cached.steps]
    with torch.inference_mode():
        model = Network(config, parameters, FixedOrder())
        _, source = source_of(model, trace.reading)
        naive = partial(decode.decode_naive, model, source, choose)
        cached = partial(decode.decode_cached, model, source, choose)
        return Comparisons(
            bidirectional=recorded_run(naive(mask=bidirectional), config),
            first_place=recorded_run(cached(places=decode.always_first), config),
            cuts=tuple(
                Cut(name, tuple(chunks), _gap(trace, decode.prefill(model, source, fed, chunks)))
                for name, chunks in cuts_of(len(fed)).items()
            ),
            blas_gap=_blas_gap(trace, choose),
        )


def _gap(trace: Trace, prefilled: decode.Prefilled) -> float:
    """Largest difference of any key or value from the cache filled step by step."""
    kept = (layer.attention for layer in trace.cached.steps[-1].layers)
    largest = max(
        max(np.abs(a.k - b.k.numpy()).max(), np.abs(a.v - b.v.numpy()).max())
        for a, b in zip(kept, prefilled.keys_values, strict=True)
    )
    return float(largest)


def _blas_gap(trace: Trace, choose: decode.Choice) -> np.ndarray:
    config, parameters = shipped()
    model = Network(config, parameters, Blas())
    _, source = source_of(model, trace.reading)
    with_cache = decode.decode_cached(model, source, choose)
    without = decode.decode_naive(model, source, choose, mask=causal)
    pairs = zip(with_cache, without, strict=True)
    gaps = np.array([float((a.logits - b.logits).abs().max()) for a, b in pairs])
    gaps.flags.writeable = False
    return gaps
