"""How much attention goes to the first token is what transformers' own weights say."""

from pathlib import Path

import pytest
import torch

from model.engine.first_token import first_token_shares
from model.errors import BadInput
from tests.oracles.engine import in_engine, in_float64, oracle, saved

TOKENS = torch.randint(0, 97, (40,), generator=torch.Generator().manual_seed(5)).tolist()


@pytest.mark.parametrize("member", ["mha", "gqa-untied", "mqa-theta", "qwen3"])
@torch.inference_mode()
def test_shares_are_those_of_the_weights_transformers_hands_out(member: str, tmp_path: Path):
    theirs = oracle(member)
    in_float64(theirs)
    ours = in_engine(saved(theirs, tmp_path))
    theirs.set_attn_implementation("eager")
    weights = theirs(torch.tensor([TOKENS]), output_attentions=True).attentions
    expected = [float(layer[0, :, 7:, 0].mean()) for layer in weights]
    shares, even = first_token_shares(ours, TOKENS, after=7)
    assert shares == pytest.approx(expected, abs=1e-6)  # its softmax is in float32
    assert even == pytest.approx(sum(1 / (i + 1) for i in range(7, 40)) / 33)


def test_a_text_without_tokens_after_the_start_is_refused(tmp_path: Path):
    ours = in_engine(saved(oracle("mha"), tmp_path))
    with pytest.raises(BadInput, match="40 tokens has none from position 40"):
        first_token_shares(ours, TOKENS, after=40)
