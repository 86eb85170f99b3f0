"""The engine gives what transformers gives on the same weights, however the tokens are fed."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.engine.batch import PADS, Pad, last_rows, write_batch
from model.engine.build import random_checkpoint
from model.engine.config import EngineConfig
from model.engine.generate import Options
from model.engine.graphed import Graphed
from model.engine.keeping import Keeping
from model.engine.layers import Linear
from model.engine.model import LanguageModel
from model.engine.session import Forgetful, Remembering, Session
from tests.oracles.engine import (
    CPU,
    LAYOUTS_OF_FLOAT32,
    MEMBERS,
    in_engine,
    in_float64,
    oracle,
    saved,
)

N_TOKENS = 60
CONFIG = EngineConfig(
    n_layers=3, n_heads=4, n_kv_heads=2, d_head=8, d_model=32, d_ff=48, vocab_size=97, context=128
)
SMALL = in_engine(random_checkpoint(CONFIG, 5, device=CPU, dtype=torch.float64))
TEXT = torch.randint(
    0, CONFIG.vocab_size, (1, N_TOKENS), generator=torch.Generator().manual_seed(1)
)
WHOLE = SMALL.logits(Forgetful(SMALL).feed(TEXT))
EXACT = 1e-11


def logits(session: Session, tokens: torch.Tensor) -> torch.Tensor:
    return session.model.logits(session.feed(tokens))


def fed_in_parts(session: Session, tokens: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    parts = tokens.split([*sizes, tokens.shape[1] - sum(sizes)], dim=1)
    return torch.cat([logits(session, part) for part in parts if part.shape[1]], dim=1)


@pytest.mark.parametrize("member", MEMBERS)
def test_float64_logits_equal_those_of_transformers_to_1e_9(member: str, tmp_path: Path):
    theirs = oracle(member)
    in_float64(theirs)
    ours = in_engine(saved(theirs, tmp_path))
    tokens = torch.randint(0, ours.config.vocab_size, (2, N_TOKENS))
    with torch.inference_mode():
        expected = theirs(tokens).logits
    session = Remembering(ours, N_TOKENS, batch=2)
    assert (fed_in_parts(session, tokens, [7, 1, 30]) - expected).abs().max() <= 1e-9


@pytest.mark.parametrize("layout", LAYOUTS_OF_FLOAT32.values(), ids=LAYOUTS_OF_FLOAT32)
@pytest.mark.parametrize("member", MEMBERS)
def test_float32_logits_equal_those_of_transformers_to_1e_4(
    member: str, layout: type[Linear], tmp_path: Path
):
    theirs = oracle(member).float()
    ours = in_engine(saved(theirs, tmp_path), torch.float32, layout)
    tokens = torch.randint(0, ours.config.vocab_size, (1, N_TOKENS))
    with torch.inference_mode():
        expected = theirs(tokens).logits
    session = Remembering(ours, N_TOKENS)
    assert (fed_in_parts(session, tokens, [20, 1, 1]) - expected).abs().max() <= 1e-4


@pytest.mark.parametrize("member", ["gqa-untied", "qwen3"])
def test_transformers_writes_the_same_greedy_text(member: str, tmp_path: Path):
    theirs = oracle(member)
    in_float64(theirs)
    ours = in_engine(saved(theirs, tmp_path))
    prompt = [3, 14, 15, 92, 65, 35]
    with torch.inference_mode():
        out = theirs.generate(torch.tensor([prompt]), max_new_tokens=200, do_sample=False)
    written = write_batch(ours, [prompt], Options(max_tokens=200))
    assert written[0] == out[0, len(prompt) :].tolist()


@given(sizes=st.lists(st.integers(1, 20), max_size=5).filter(lambda s: sum(s) < N_TOKENS))
def test_any_chunks_give_the_same_logits_as_one_pass(sizes: list[int]):
    parts = fed_in_parts(Remembering(SMALL, N_TOKENS), TEXT, sizes)
    assert (parts - WHOLE).abs().max() <= EXACT


def test_forgetting_everything_gives_the_same_logits():
    assert (fed_in_parts(Forgetful(SMALL), TEXT, [9, 1, 1]) - WHOLE).abs().max() <= EXACT


@pytest.mark.parametrize("sizes", [[20] + [1] * 39, [1] * 59], ids=len)
def test_a_step_of_fixed_shape_gives_the_same_logits(sizes: list[int]):
    assert (fed_in_parts(Graphed(SMALL, N_TOKENS), TEXT, sizes) - WHOLE).abs().max() <= EXACT


@given(kept=st.integers(0, 40), wrong=st.integers(1, 19))
def test_a_rolled_back_session_goes_on_as_if_nothing_had_been_there(kept: int, wrong: int):
    session = Remembering(SMALL, N_TOKENS)
    if kept:
        session.feed(TEXT[:, :kept])
    session.feed(TEXT.flip(1)[:, :wrong])
    session.crop(kept)
    assert (logits(session, TEXT[:, kept:]) - WHOLE[:, kept:]).abs().max() <= EXACT


@pytest.mark.parametrize("pad", PADS.values(), ids=PADS)
@given(lengths=st.lists(st.integers(1, 25), min_size=1, max_size=5))
def test_padding_changes_no_row_of_a_batch(pad: Pad, lengths: list[int]):
    prompts = [TEXT[0, i : i + n].tolist() for i, n in enumerate(lengths)]
    tokens, valid = pad(prompts)
    session = Remembering(SMALL, tokens.shape[1] + 3, valid=valid)
    rows = SMALL.logits(last_rows(session.feed(tokens), valid))
    later = logits(session, TEXT[:, :3].expand(len(prompts), 3))
    for i, prompt in enumerate(prompts):
        alone = logits(Forgetful(SMALL), torch.tensor([[*prompt, *TEXT[0, :3].tolist()]]))[0]
        assert (rows[i] - alone[len(prompt) - 1]).abs().max() <= EXACT
        assert (later[i] - alone[len(prompt) :]).abs().max() <= EXACT


@pytest.mark.parametrize("pad", PADS.values(), ids=PADS)
def test_a_batch_writes_what_each_row_writes_alone(pad: Pad):
    prompts = [TEXT[0, :n].tolist() for n in (3, 17, 9)]
    options = Options(max_tokens=40)
    alone = [write_batch(SMALL, [prompt], options)[0] for prompt in prompts]
    assert write_batch(SMALL, prompts, options, pad) == alone


def masked_reference(model: LanguageModel, keeping: Keeping, *, first: int = 0) -> torch.Tensor:
    """Feed one token at a time to a store that drops nothing, hiding what a window would drop."""
    session = Remembering(model, N_TOKENS)
    session.keeping = Keeping(window=keeping.window, spare=1)  # spare: mask every pass
    return fed_in_parts(session, TEXT, [1] * (N_TOKENS - 1))[:, first:]


@pytest.mark.parametrize("sizes", [[1] * (N_TOKENS - 1), [25, 20, 1, 1], []], ids=len)
@pytest.mark.parametrize("window", [1, 8, N_TOKENS])
def test_a_ring_reads_what_a_window_mask_allows(window: int, sizes: list[int]):
    keeping = Keeping(window=window)
    ring = fed_in_parts(Remembering(SMALL, N_TOKENS, keeping=keeping), TEXT, sizes)
    assert (ring - masked_reference(SMALL, keeping)).abs().max() <= EXACT


def test_sinks_change_nothing_until_the_cache_is_full():
    session = Remembering(SMALL, N_TOKENS, keeping=Keeping(window=20, sinks=4))
    assert (logits(session, TEXT[:, :24]) - WHOLE[:, :24]).abs().max() <= EXACT


def test_sinks_stand_at_their_place_in_the_cache():
    """In a single layer, streaming equals reading the kept tokens as if they were the text."""
    single = in_engine(
        random_checkpoint(
            EngineConfig(**{**vars(CONFIG), "n_layers": 1}), 6, device=CPU, dtype=torch.float64
        )
    )
    streaming = Remembering(single, N_TOKENS, keeping=Keeping(window=7, sinks=2))
    rows = fed_in_parts(streaming, TEXT, [1] * (N_TOKENS - 1))
    for n in (12, 13, 40, N_TOKENS):
        kept = torch.cat([TEXT[:, :2], TEXT[:, n - 7 : n]], dim=1)
        assert (rows[0, n - 1] - logits(Forgetful(single), kept)[0, -1]).abs().max() <= EXACT
