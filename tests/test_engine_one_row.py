"""One token through NumPy gives what it gives through PyTorch, in every model and every store."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.engine import reading
from model.engine.build import random_checkpoint
from model.engine.config import EngineConfig
from model.engine.keeping import AS_COMPUTED, FORMATS, WHOLE, Keeping
from model.engine.layers import Streamed
from model.engine.model import LanguageModel
from model.engine.one_row import OneRow
from model.engine.session import Remembering
from tests.oracles.engine import CPU, MEMBERS, in_engine, in_float64, oracle, saved

CONFIG = EngineConfig(
    n_layers=2, n_heads=6, n_kv_heads=2, d_head=32, d_model=48, d_ff=64, vocab_size=97, context=64
)
CHECKPOINT = random_checkpoint(CONFIG, 3, device=CPU, dtype=torch.float64)
MODEL = in_engine(CHECKPOINT, layout=Streamed)
TEXT = torch.randint(0, CONFIG.vocab_size, (1, 40), generator=torch.Generator().manual_seed(7))
KEEPINGS = {
    "everything": Keeping(),
    "a window": Keeping(window=5),
    "a window and room to roll back": Keeping(window=5, spare=3),
    "a window and sinks": Keeping(window=5, sinks=2),
    **{
        f"{name} {'whole' if name in WHOLE else 'keys'}": Keeping(
            k_format=name, v_format=name if name in WHOLE else AS_COMPUTED
        )
        for name in FORMATS
    },
}


def without_one_row(model: LanguageModel) -> LanguageModel:
    slow = replace(model)
    object.__setattr__(slow, "one_row", None)
    return slow


def one_by_one(model: LanguageModel, keeping: Keeping) -> torch.Tensor:
    session = Remembering(model, TEXT.shape[1], keeping=keeping)
    return torch.cat([model.logits(session.feed(token)) for token in TEXT.split(1, dim=1)], dim=1)


@pytest.mark.parametrize("short", [0, 12, 1000])
@pytest.mark.parametrize("keeping", KEEPINGS.values(), ids=KEEPINGS)
@torch.inference_mode()
def test_every_store_hands_the_same_rows_to_both(
    keeping: Keeping, short: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading, "SHORT", short)
    difference = one_by_one(MODEL, keeping) - one_by_one(without_one_row(MODEL), keeping)
    assert difference.abs().max() <= 1e-11


@pytest.mark.parametrize("member", MEMBERS)
@torch.inference_mode()
def test_float64_steps_equal_those_of_transformers_to_1e_9(member: str, tmp_path: Path):
    theirs = oracle(member)
    in_float64(theirs)
    ours = in_engine(saved(theirs, tmp_path), layout=Streamed)
    expected = theirs(TEXT).logits
    assert (one_by_one(ours, Keeping()) - expected).abs().max() <= 1e-9


def test_a_gate_far_below_zero_closes_without_a_warning():
    loud = in_engine(CHECKPOINT, layout=Streamed)
    for layer in loud.layers:
        layer.feed_forward_norm.mul_(1e6)
    assert one_by_one(loud, Keeping()).isfinite().all()


@pytest.mark.parametrize(
    ("dtype", "kind"), [(torch.float32, OneRow), (torch.bfloat16, type(None))], ids=str
)
def test_only_types_that_numpy_has_go_through_it(dtype: torch.dtype, kind: type):
    assert isinstance(in_engine(CHECKPOINT, dtype).one_row, kind)
