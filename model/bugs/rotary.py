"""Rotary positions turned twice, turned by another rule, or turned by a rounded number."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.bugs.bench_decoder import with_store
from model.bugs.bench_rotary import far_out, long_context, same_rule_in_both
from model.bugs.bug import Bug
from model.rope import frequencies, rotate
from model.storage.base import KeyRows, NewKeys, NewValues, ValueRows
from model.storage.contiguous import Contiguous

LAWS = "tests/test_cache_laws.py::"
SPLITS = f"{LAWS}test_every_split_of_a_prompt_gives_the_logits_of_a_full_pass"
Rows = Float[Tensor, "heads new d_head"]


class TurnedAgain(Contiguous):
    """Takes the keys it holds for raw ones and turns them by their positions, at every step."""

    def append(self, k: NewKeys, v: NewValues) -> tuple[KeyRows, ValueRows]:
        old = torch.arange(self.length)
        self.k[..., : self.length, :] = rotate(self.k[..., : self.length, :], old)
        return super().append(k, v)


def pairs_on_halves(x: Rows, positions: Int[Tensor, " new"], base: float) -> Rows:
    """Lay the angles out for neighbouring pairs, then turn the first half with the second."""
    rates = frequencies(x.shape[-1], base).repeat_interleave(2)  # 0 0 1 1, not 0 1 0 1
    angles = positions[:, None] * rates
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


LONG = 10
"""Positions from which the scaled rule holds."""


def scaled_once_long(x: Rows, positions: Int[Tensor, " new"], base: float) -> Rows:
    """Turn slower once the text is long: the keys already kept were turned by the old rule."""
    return rotate(x, positions, base * (100 if int(positions.max()) >= LONG else 1))


def half_precision_positions(x: Rows, positions: Int[Tensor, " new"], base: float) -> Rows:
    """Count positions in bfloat16, in which 257 is 256."""
    return rotate(x, positions.bfloat16().long(), base)


BUGS = {
    "rope-twice": Bug(
        id="rope-twice",
        title="Keys turned again at every step",
        story=(
            "Two conventions work: keep keys already turned by their position, or keep them raw "
            "and turn them when they are read. Mixing the two turns a kept key a little further "
            "at every step, so that an old key points where a newer one should."
        ),
        source="google-deepmind/gemma#368",
        step="the-cache-step-by-step#append",
        fix="Turn each key once, by its own position, before it is kept.",
        right="model.storage.contiguous:Contiguous",
        twin="model.bugs.rotary:TurnedAgain",
        method="append",
        seam="store",
        bench=with_store(),
        caught_by=SPLITS,
    ),
    "rope-layout": Bug(
        id="rope-layout",
        title="Two ways to pair the channels, mixed",
        story=(
            "Rotary positions turn channels in pairs: neighbours in the paper, first and second "
            "half in Llama's checkpoints as transformers keeps them. Angles laid out for one way "
            "and a rotation done the other way, which a report once asked for, are wrong with and "
            "without a cache alike. So the test everybody writes, cached against uncached, passes."
        ),
        source="huggingface/transformers#40462",
        step="going-deeper#positions",
        fix="Test that moving a whole text along changes nothing.",
        right="model.rope:rotate",
        twin="model.bugs.rotary:pairs_on_halves",
        seam="rotate",
        bench=same_rule_in_both,
        caught_by=f"{LAWS}test_moving_a_text_along_changes_no_logit",
    ),
    "rope-rescaled": Bug(
        id="rope-rescaled",
        title="The rule changes while keys are kept",
        story=(
            "Some models turn more slowly once a text is long, to reach further than they were "
            "trained for. Keys kept from before were turned by the old rule. A score between "
            "the two then depends on where the text began, not on a distance."
        ),
        source="huggingface/transformers#25104",
        step="going-deeper#positions",
        fix="Turn the kept keys anew when the rule changes, or fix the rule before the first key.",
        right="model.rope:rotate",
        twin="model.bugs.rotary:scaled_once_long",
        seam="rotate",
        bench=long_context,
        caught_by=SPLITS,
    ),
    "bfloat16-positions": Bug(
        id="bfloat16-positions",
        title="Positions in sixteen bits",
        story=(
            "bfloat16 has eight bits for the digits of a number: whole numbers above 256 are "
            "rounded. Positions counted in it make neighbours stand in the same place, then every "
            "fourth, then every sixty-fourth. Short tests pass."
        ),
        source="huggingface/transformers#29285",
        step="going-deeper#positions",
        fix="Count positions in integers and make the angles in float32 or better.",
        right="model.rope:rotate",
        twin="model.bugs.rotary:half_precision_positions",
        seam="rotate",
        bench=far_out,
        caught_by=f"{LAWS}test_moving_a_text_along_changes_no_logit",
    ),
}
