"""The words a written step could have chosen, and what each stage of sampling leaves of them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.sampling import Sampling
from model.toy.trace import Step, Trace

N_SHOWN = 12


def choose_again(trace: Trace, t: int, sampling: Sampling, seed: int) -> dict[str, Any]:
    """Choose the word of step `t` once more, from the whole vocabulary, stage by stage.

    Plain data. words: the likeliest, in the order of ties (lower id first); laws: for each
    stage, the softmax first, their probabilities; kept and mass: how many words a stage
    leaves and how much of the distribution it was given they held.
    """
    logits = allowed_logits(trace.cached.steps[t])
    before = logits.softmax(dim=-1)
    stages = sampling.stages(logits)
    ids = before.sort(descending=True, stable=True).indices[:N_SHOWN].tolist()
    laws = [before, *(stage.probabilities for stage in stages)]
    generator = torch.Generator().manual_seed(seed)
    chosen = int(sampling.choose(logits, generator))
    return {
        "t": t,
        "words": [trace.vocabulary[i] for i in ids],
        "stages": [stage.name for stage in stages],
        "laws": [law[ids].tolist() for law in laws],
        "keeps": [[True] * len(ids), *(stage.kept[ids].tolist() for stage in stages)],
        "kept": [int(torch.isfinite(logits).sum()), *(int(s.kept.sum()) for s in stages)],
        "mass": [
            1.0,
            *(float(given[stage.kept].sum()) for given, stage in zip(laws, stages, strict=False)),
        ],
        "chosen": trace.vocabulary[chosen],
        "place": ids.index(chosen) if chosen in ids else None,
        "probability": float(stages[-1].probabilities[chosen]),
    }


def allowed_logits(step: Step) -> Tensor:
    """Return a step's logits, -inf where the sentence cannot have the word."""
    return torch.from_numpy(np.where(step.probabilities > 0, step.logits, -np.inf))
