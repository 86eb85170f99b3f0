"""On a real model: the text transformers writes, and the effects the lessons speak of."""

from typing import Any

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from model.engine.build import Builder, tensor_shapes
from model.engine.checkpoint import Checkpoint
from model.engine.events import Written
from model.engine.generate import Options, generate
from model.engine.layers import InOut
from model.engine.session import Forgetful, Remembering
from model.engine.sources import open_checkpoint
from tests.oracles.engine import CPU

pytestmark = pytest.mark.smollm
PROMPT = "The lighthouse keeper climbed the stairs every evening at"
N_NEW = 200


def as_transformers(checkpoint: Checkpoint) -> Any:
    c = checkpoint.config
    config = LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads,
        max_position_embeddings=c.context,
        rms_norm_eps=c.norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    weights = {name: checkpoint.read(name) for name in tensor_shapes(c)}
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config)  # it was on meta, too
    return model.eval()


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return open_checkpoint("smollm2")


def test_smollm2_has_the_logits_and_the_greedy_text_of_transformers(checkpoint: Checkpoint):
    """Transformers is driven by hand: its own `generate` may stop at an end token."""
    ours = Builder(checkpoint, torch.float32, CPU, InOut).model()
    theirs = as_transformers(checkpoint)
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
