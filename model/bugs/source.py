"""The cross-attention store, treated as if it were like the other one."""

from jaxtyping import Float
from torch import Tensor

from model.bugs.bench_toy import Kept, on_toy
from model.bugs.bug import Bug
from model.toy.network import KeysValues, Network

LAW = "tests/test_toy_laws.py::test_a_cached_run_writes_what_a_full_one_writes"
WINDOW = 4


def only_a_window(
    network: Network, memory: Float[Tensor, "source d_model"], _earlier: Kept | None
) -> Kept:
    """Cut the source to the decoder's window, like everything else that is cached."""
    whole = network.project_memory(memory)
    return tuple(KeysValues(k[:, -WINDOW:], v[:, -WINDOW:]) for k, v in whole)


def the_one_we_have(
    network: Network, memory: Float[Tensor, "source d_model"], earlier: Kept | None
) -> Kept:
    """Project the source once and keep it: of which sentence, nobody asks."""
    return earlier or network.project_memory(memory)


BUGS = {
    "cross-store-cut": Bug(
        id="cross-store-cut",
        title="The source is cut with the window",
        story=(
            "The decoder reads its own words through a sliding window, and whatever crops its "
            "cache crops the cross-attention store too. The source does not slide: its first "
            "words are as much needed at the last step as at the first. Long sentences lose "
            "their beginning."
        ),
        source="huggingface/transformers#46111",
        step="the-cache-step-by-step#cross-store",
        fix="Windows, crops and rollbacks are for self-attention; the source stays whole.",
        right="model.bugs.bench_toy:of_this_source",
        twin="model.bugs.source:only_a_window",
        seam="source",
        bench=on_toy("source"),
        caught_by=LAW,
    ),
    "cross-store-stale": Bug(
        id="cross-store-stale",
        title="Yesterday's sentence, translated again",
        story=(
            "The source is projected once, which is right, and kept under a name that does not "
            "change with it, which is not. The next sentence is read by the encoder and then "
            "answered from the keys and values of the one before."
        ),
        source="hlt-mt/FBK-fairseq#15",
        step="the-cache-step-by-step#cross-store",
        fix="Bind the store to its source; when a source word changes, rebuild all of it.",
        right="model.bugs.bench_toy:of_this_source",
        twin="model.bugs.source:the_one_we_have",
        seam="source",
        bench=on_toy("source"),
        caught_by=LAW,
    ),
}
