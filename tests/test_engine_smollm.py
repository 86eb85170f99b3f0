"""On a real model: the text transformers writes, and the effects the lessons speak of."""

import pytest
import torch
from transformers import DynamicCache

from app.paths import CONTENT
from model.engine.build import Builder
from model.engine.checkpoint import Checkpoint
from model.engine.events import Written
from model.engine.generate import Options, generate
from model.engine.layers import InOut
from model.engine.model import LanguageModel
from model.engine.opponents import transformers_model
from model.engine.perplexity import Case, measure
from model.engine.session import Forgetful, Remembering
from model.engine.sources import open_checkpoint
from tests.oracles.engine import CPU

pytestmark = pytest.mark.smollm
PROMPT = "The lighthouse keeper climbed the stairs every evening at"
N_NEW = 200


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return open_checkpoint("smollm2")


@pytest.fixture(scope="module")
def ours(checkpoint: Checkpoint) -> LanguageModel:
    return Builder(checkpoint, torch.float32, CPU, InOut).model()


def test_smollm2_has_the_logits_and_the_greedy_text_of_transformers(
    checkpoint: Checkpoint, ours: LanguageModel
):
    """Transformers is driven by hand: its own `generate` may stop at an end token."""
    theirs = transformers_model(checkpoint, torch.float32, CPU)
    assert checkpoint.tokenizer is not None
    prompt = checkpoint.tokenizer.encode(PROMPT)
    session = Remembering(ours, len(prompt) + N_NEW)
    run = generate(session, prompt, Options(max_tokens=N_NEW))
    written = [event.token for event in run if isinstance(event, Written)]
    with torch.inference_mode():
        cache = DynamicCache(config=theirs.config)
        fed, expected = torch.tensor([prompt]), []
        for _ in range(N_NEW):
            scores = theirs(fed, cache=cache, logits_to_keep=1).logits[:, -1]
            fed = scores.argmax(dim=-1, keepdim=True)
            expected.append(int(fed))
        text = torch.tensor([[*prompt, *written]])[:, :100]
        reference = theirs(text).logits
    assert written == expected
    assert (ours.logits(Forgetful(ours).feed(text)) - reference).abs().max() <= 1e-4


def test_a_window_needs_its_first_token_and_int8_costs_next_to_nothing(
    checkpoint: Checkpoint, ours: LanguageModel
):
    """On a program; on prose the first token matters less (see the shipped measurement)."""
    assert checkpoint.tokenizer is not None
    program = (CONTENT / "texts" / "programs" / "a-program.txt").read_text(encoding="utf-8")
    tokens = checkpoint.tokenizer.encode(program)[:500]
    without, with_one, int8, fp4 = measure(
        ours,
        tokens,
        (
            Case(slots=64),
            Case(slots=64, sinks=1),
            Case(k_format="int8", v_format="int8"),
            Case(k_format="fp4", v_format="fp4"),
        ),
    )
    assert without.perplexity > 3 * with_one.perplexity
    assert abs(int8.perplexity / int8.full_perplexity - 1) < 0.005
    assert int8.kl < fp4.kl / 10
