"""The translator's cached run, built from parts that can each be replaced, is the full run."""
# ruff: noqa: PT028 -- the defaults are the right parts, for a twin to take the place of

import pytest
import torch

from model.bugs.bench_toy import MakeKeeper, Seams, decode, of_this_source
from model.toy.arithmetic import FixedOrder
from model.toy.cache import Cache
from model.toy.decode import Places, decode_cached, decode_naive, following, forced, likeliest
from model.toy.masks import Mask, causal
from model.toy.network import Network
from model.toy.record import shipped, source_of, understand

SENTENCES = ("The black cat sees a white bird.", "My dog is very happy!", "I love you")


def setting(text: str):
    network = Network(*shipped(), FixedOrder())
    _, source = source_of(network, understand(text, network.config))
    return network, source


@torch.inference_mode()
def test_a_cached_run_writes_what_a_full_one_writes(
    *,
    places: Places = following,
    mask: Mask = causal,
    keep: MakeKeeper = Cache,
    source: object = of_this_source,
):
    seams = Seams(places=places, mask=mask, keep=keep, source=source)  # pyright: ignore[reportArgumentType] -- a twin may be anything
    for text, earlier in zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True):
        network, before = setting(earlier)
        kept = network.project_memory(before.memory)
        network, sentence = setting(text)
        naive = list(decode_naive(network, sentence))
        choose = forced([step.word for step in naive])
        cached = list(decode(network, sentence, seams, kept, choose))
        assert [word for _, word in cached] == [step.word for step in naive]
        for (logits, _), step in zip(cached, naive, strict=True):
            assert torch.equal(logits, step.logits)


@torch.inference_mode()
@pytest.mark.parametrize("text", SENTENCES)
def test_the_lab_s_loop_is_the_lesson_s_loop(text: str):
    network, source = setting(text)
    ours = list(decode(network, source, Seams(), None, likeliest))
    theirs = list(decode_cached(network, source))
    assert [word for _, word in ours] == [step.word for step in theirs]
    assert all(torch.equal(a, b.logits) for (a, _), b in zip(ours, theirs, strict=True))
