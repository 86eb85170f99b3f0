"""Blocks, drafts and codes change where rows are and what they cost, never what they say.

The arguments with defaults are seams: `test_bugs` calls these same functions with wrong twins.
"""
# ruff: noqa: PT028 -- the defaults are the right parts, for a twin to take the place of

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from model.chance import Chance, Seeded, exact_law
from model.config import DecoderConfig
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter
from model.sampling import Sampling
from model.serving.paged import PagedPool
from model.serving.prefix import PrefixIndex
from model.serving.tables import BlockTables
from model.speculation import Limits, residual, speculate
from model.storage.base import Room
from model.storage.kivi import Kivi

TOLERANCE, CAPACITY, BLOCK = 1e-11, 60, 4
DECODER = Decoder(DecoderConfig(), seed=1)
GREEDY = Sampling(temperature=0.0)
Tables = Callable[[int, int], BlockTables]


def tokens_of(n: int, seed: int) -> Tensor:
    return torch.randint(0, 29, (n,), generator=torch.Generator().manual_seed(seed))


def gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def pool_of(tables: BlockTables) -> PagedPool:
    return PagedPool(DECODER.rooms(CAPACITY), tables)


def finding(prefixes: type[PrefixIndex]) -> BlockTables:
    tables = BlockTables(40, BLOCK)
    tables.prefixes = prefixes(BLOCK)
    return tables


def test_two_samples_of_a_prompt_are_two_texts(*, tables: Tables = BlockTables):
    prompt = tokens_of(6, 1)
    first = pool_of(tables(40, BLOCK)).open()
    DECODER(prompt, first)
    second = first.fork()
    texts = [prompt, prompt]
    for step in range(5):
        for i, cache in enumerate((first, second)):
            token = tokens_of(1, 10 * step + i)
            texts[i] = torch.cat([texts[i], token])
            assert gap(DECODER(token, cache)[-1], DECODER(texts[i])[-1]) <= TOLERANCE


def test_a_found_block_holds_what_a_recompute_would(*, prefixes: type[PrefixIndex] = PrefixIndex):
    """Equal blocks after different beginnings, in every order of arrival."""
    a, b = tokens_of(9, 1).tolist(), tokens_of(9, 2).tolist()
    texts = [[*x[:BLOCK], *y[BLOCK:]] for x in (a, b) for y in (a, b)]
    for first in range(len(texts)):
        pool = pool_of(finding(prefixes))
        for text in texts[first:] + texts[:first]:
            cache = pool.open(text)
            logits = DECODER(torch.tensor(text[cache.length :]), cache)[-1]
            assert gap(logits, DECODER(torch.tensor(text))[-1]) <= TOLERANCE
            cache.remember(text)


@pytest.mark.parametrize("n_prompt", [4, 7, 8])
def test_a_prompt_that_is_all_there_still_runs_a_token(
    n_prompt: int, *, prefixes: type[PrefixIndex] = PrefixIndex
):
    pool, prompt = pool_of(finding(prefixes)), tokens_of(n_prompt, 1)
    first = pool.open(prompt.tolist())
    last = DECODER(prompt, first)[-1]
    first.remember(prompt.tolist())
    again = pool.open(prompt.tolist())
    assert again.length < n_prompt
    assert gap(DECODER(prompt[again.length :], again)[-1], last) <= TOLERANCE


def test_a_text_holds_no_block_it_does_not_need(*, tables: Tables = BlockTables):
    blocks = tables(40, BLOCK)
    table = blocks.open()
    for n_tokens in range(1, 18):
        blocks.grow(table, n_tokens)
        assert 0 <= len(table.blocks) * BLOCK - n_tokens < BLOCK


def test_refused_drafts_leave_nothing_behind(*, model: type[CachedModel] = CachedModel):
    text = tokens_of(12, 1)
    for n_refused in (1, 2, 4):
        target = model(DECODER, DECODER.new_cache(CAPACITY))
        target.run(text[:6].tolist())
        target.run([int(text[6]), *tokens_of(n_refused, 9).tolist()])
        target.keep(7)
        assert target.length == 7
        assert gap(target.run(text[7:].tolist()), DECODER(text)[7:]) <= TOLERANCE


def test_a_draft_model_like_the_target_is_always_right(
    *, drafter: type[ModelDrafter] = ModelDrafter
):
    """Every draft stands, round after round: the draft model's cache can have no gap."""
    for seed in range(4):
        target, model = (CachedModel(DECODER, DECODER.new_cache(CAPACITY)) for _ in range(2))
        rounds = speculate(
            target,
            drafter(model, GREEDY),
            tokens_of(6, seed).tolist(),
            limits=Limits(new_tokens=20, draft_tokens=4),
            sampling=GREEDY,
            chance=Seeded(torch.Generator().manual_seed(0)),
        )
        for one in rounds:
            assert one.accepted == len(one.drafted)


def test_speculation_emits_the_targets_law(*, mend: Callable[[Tensor, Tensor], Tensor] = residual):
    for p, q in (([0.6, 0.3, 0.1], [0.2, 0.5, 0.3]), ([0.4, 0.4, 0.2], [0.5, 0.3, 0.2])):
        target, draft = (torch.tensor(law, dtype=torch.float64) for law in (p, q))

        def emitted(chance: Chance, target: Tensor = target, draft: Tensor = draft) -> int:
            token = chance.choose(draft)
            stands = chance.happens(min(1.0, float(target[token] / draft[token])))
            return token if stands else chance.choose(mend(target, draft))

        law = exact_law(emitted)
        assert max(abs(law.get(i, 0.0) - p[i]) for i in range(3)) <= 1e-12


HAND_KEYS = [
    [50, 0.1, -0.2, 0.3],
    [52, -0.3, 0.1, -0.1],
    [48, 0.2, 0.3, -0.2],
    [51, -0.1, -0.3, 0.2],
]


def keys_read_back(kivi: type[Kivi]) -> Tensor:
    room = Room(kv_heads=1, d_key=4, d_value=4, capacity=4)
    keys = torch.tensor([HAND_KEYS], dtype=torch.float64)
    read, _ = kivi(room, n_bits=4, group=4, residual=4).append(keys, torch.zeros_like(keys))
    return read[0]


def test_an_outlier_channel_costs_the_keys_nothing(*, kivi: type[Kivi] = Kivi):
    """The scores a query sees, not the error of the numbers: the likeliest key must stay."""
    query = torch.tensor([0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    true = torch.tensor(HAND_KEYS, dtype=torch.float64) @ query
    found = keys_read_back(kivi) @ query
    assert int(found.argmax()) == int(true.argmax()) == 2
    assert gap(found, true) < 0.1


def test_rows_that_have_waited_are_coded(*, kivi: type[Kivi] = Kivi):
    room = Room(kv_heads=2, d_key=8, d_value=8, capacity=CAPACITY)
    one_by_one, at_once = (kivi(room, n_bits=4, group=4, residual=8) for _ in range(2))
    k, v = torch.randn(
        (2, 2, 24, 8), generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    at_once.append(k, v)
    for key, value in zip(k.split(1, dim=-2), v.split(1, dim=-2), strict=True):
        one_by_one.append(key, value)
    assert one_by_one.nbytes == at_once.nbytes
