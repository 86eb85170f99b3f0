"""What each way of storing less is, claims, and saves: MQA, GQA, MLA, CLA, YOCO, sinks."""

from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from model.attention.attend import attend
from model.attention.heads import Attention, Parts
from model.attention.latent import (
    AbsorbedLatentAttention,
    ExpandedLatentAttention,
    LatentAttention,
    LatentConfig,
)
from model.attention.pooling import pool_heads, with_fewer_kv_heads
from model.attention.shared import OwningBlock, SharedConfig, SharedDecoder
from model.attention.sink import attend_with_sink, softmax_with_sink
from model.attention.yoco import Yoco, YocoConfig
from model.config import DecoderConfig
from model.decoder import Decoder
from model.errors import BadInput
from model.masks import causal, mask
from model.rope import rotate
from model.storage.growing import Growing

TOKENS = torch.randint(0, 29, (13,), generator=torch.Generator().manual_seed(5))
MHA = DecoderConfig(n_layers=2, n_heads=4, n_kv_heads=4)
PLACES = torch.arange(9)
CAUSAL = mask(causal, PLACES, PLACES)


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


# --- heads shared ------------------------------------------------------------------------------


def test_pooling_the_heads_of_the_worked_example():
    weight = torch.tensor([[1.0], [3.0], [2.0], [6.0]])
    assert pool_heads(weight, 4, 2).flatten().tolist() == [2, 4]
    assert pool_heads(weight, 4, 1).flatten().tolist() == [3]


@given(seed=st.integers(0, 99))
def test_pooling_in_two_steps_is_pooling_at_once(seed: int):
    weight = normal(32, 6, seed=seed)
    twice = pool_heads(pool_heads(weight, 8, 4), 4, 1)
    assert gap(twice, pool_heads(weight, 8, 1)) <= 1e-14
    assert torch.equal(pool_heads(weight, 8, 8), weight)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_conversion_is_exact_when_the_heads_of_a_group_are_equal(n_kv_heads: int):
    decoder = Decoder(MHA, 0)
    for block in decoder.blocks:
        heads = cast("Attention", block.get_submodule("attention")).keys_values
        for projection in (heads.k, heads.v):
            pooled = pool_heads(projection.weight.data, 4, n_kv_heads)
            spread = pooled.unflatten(0, (n_kv_heads, -1)).repeat_interleave(4 // n_kv_heads, 0)
            projection.weight.data = spread.flatten(0, 1)
    converted = with_fewer_kv_heads(decoder, n_kv_heads)
    assert gap(converted(TOKENS), decoder(TOKENS)) <= 1e-12
    full, less = decoder.new_cache(8), converted.new_cache(8)
    assert less.nbytes * 4 == full.nbytes * n_kv_heads


def test_conversion_of_unequal_heads_is_only_where_training_starts():
    decoder = Decoder(MHA, 0)
    assert gap(with_fewer_kv_heads(decoder, 4)(TOKENS), decoder(TOKENS)) == 0
    assert gap(with_fewer_kv_heads(decoder, 2)(TOKENS), decoder(TOKENS)) > 0.01


def test_the_mean_of_heads_commutes_with_rotation():
    heads, positions = normal(4, 9, 8), torch.arange(9)
    assert (
        gap(rotate(heads.mean(0, keepdim=True), positions)[0], rotate(heads, positions).mean(0))
        < 1e-14
    )


@pytest.mark.parametrize("n_kv_heads", [3, 5, 8])
def test_heads_that_do_not_divide_are_refused(n_kv_heads: int):
    with pytest.raises(BadInput, match=f"4 query heads cannot share {n_kv_heads}"):
        DecoderConfig(n_heads=4, n_kv_heads=n_kv_heads)
    with pytest.raises(BadInput, match=f"4 query heads cannot share {n_kv_heads}"):
        attend(normal(4, 2, 6), normal(n_kv_heads, 2, 6), normal(n_kv_heads, 2, 6))


@pytest.mark.parametrize(
    ("sizes", "numbers"),
    [
        ({"n_layers": 12, "n_heads": 12, "n_kv_heads": 12, "d_head": 64}, 18_432),
        ({"n_layers": 32, "n_heads": 32, "n_kv_heads": 32, "d_head": 128}, 262_144),
        ({"n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "d_head": 128}, 65_536),
        ({"n_layers": 30, "n_heads": 9, "n_kv_heads": 3, "d_head": 64}, 11_520),
        ({"n_layers": 96, "n_heads": 96, "n_kv_heads": 96, "d_head": 128}, 2_359_296),
    ],
    ids=["gpt2", "llama-2-7b", "llama-3-8b", "smollm2", "gpt-3"],
)
def test_published_models_cache_the_known_numbers_a_token(sizes: dict[str, Any], numbers: int):
    config = DecoderConfig(**sizes)
    assert config.numbers_per_token == numbers
    assert config.cached_numbers(4096) == 4096 * numbers


# --- MLA ---------------------------------------------------------------------------------------

LATENT = LatentConfig(d_model=16, n_heads=4, d_head=6, d_rope=4, d_value=5, d_latent=8)


def latent_layers(
    config: LatentConfig = LATENT, parts: Parts | None = None
) -> list[LatentAttention]:
    return [
        kind(config, 0, parts or Parts(), torch.Generator().manual_seed(1))
        for kind in (ExpandedLatentAttention, AbsorbedLatentAttention)
    ]


@given(seed=st.integers(0, 99))
def test_absorbed_equals_expanded_in_scores_and_outputs(seed: int):
    heard: list[dict[str, Tensor]] = [{}, {}]
    outputs = [
        layer(normal(9, 16, seed=seed), None, probe.__setitem__)
        for layer, probe in zip(latent_layers(), heard, strict=True)
    ]
    assert gap(outputs[0].detach(), outputs[1].detach()) <= 1e-12
    assert gap(heard[0]["weights"].detach(), heard[1]["weights"].detach()) <= 1e-12


def test_mla_caches_the_same_few_numbers_for_any_number_of_heads():
    for n_heads in (2, 4, 16):
        config = replace(LATENT, n_heads=n_heads)
        for layer in latent_layers(config):
            assert layer.room(1).numbers_per_token == config.numbers_per_layer == 12
    assert LATENT.expanded_numbers_per_layer == 60


def test_the_rotation_of_expanded_keys_cannot_be_absorbed():
    """Why there is a rotary key apart: a turn between the two matrices does not move out."""
    layer = latent_layers()[0]
    latent = normal(1, 9, 8)
    up = layer.up(layer.up_key).detach()
    q = normal(4, 9, 6, seed=1)
    expanded = rotate(q, PLACES) @ rotate(latent @ up.mT, PLACES).mT
    folded = (rotate(q, PLACES) @ up) @ latent.mT
    assert gap(q @ (latent @ up.mT).mT, (q @ up) @ latent.mT) <= 1e-12
    assert gap(expanded, folded) > float(expanded.std())


def test_mla_without_positions_is_mha_with_the_product_of_its_weights():
    without = Parts(rotate=lambda x, _positions, _base: torch.zeros_like(x))
    layer = latent_layers(parts=without)[1].requires_grad_(requires_grad=False)
    layer.latent_norm = cast("nn.RMSNorm", nn.Identity())
    x = normal(9, 16)
    q = layer.query(x).unflatten(-1, (4, 10)).transpose(0, 1)[..., :6]
    k = x @ (layer.up(layer.up_key) @ layer.down.weight).mT
    v = x @ (layer.up(layer.up_value) @ layer.down.weight).mT
    mixed, _ = attend(q, k, v, CAUSAL, scale=10**-0.5)
    assert gap(layer(x, None), layer.o(mixed.transpose(0, 1).flatten(1))) <= 1e-12


def test_a_latent_as_wide_as_all_heads_can_be_any_mha():
    """Keys and values themselves are the latent; the up-projections pick a head's part."""
    heads, d_head, d_value = 3, 4, 5
    k, v, q = normal(heads, 9, d_head), normal(heads, 9, d_value), normal(heads, 9, d_head)
    latent = torch.cat([k.transpose(0, 1).flatten(1), v.transpose(0, 1).flatten(1)], dim=-1)[None]
    identity = torch.eye(heads * (d_head + d_value)).double()
    up_key = identity[: heads * d_head].unflatten(0, (heads, d_head))
    up_value = identity[heads * d_head :].unflatten(0, (heads, d_value))
    mixed, _ = attend(q @ up_key, latent, latent, CAUSAL, scale=d_head**-0.5)
    assert gap(mixed @ up_value.mT, attend(q, k, v, CAUSAL)[0]) <= 1e-13


def test_the_latent_is_kept_normed_and_the_rotary_key_turned():
    layer = latent_layers()[0].requires_grad_(requires_grad=False)
    store = Growing(layer.room(9))
    x = normal(9, 16)
    layer.keep(x, store)
    latent, rope_key = store.read()
    assert gap(latent.square().mean(dim=-1), torch.ones(1, 9).double()) <= 1e-4
    assert gap(rope_key, rotate(layer.rope_key(x)[None], PLACES)) <= 1e-14


def test_published_latents_are_this_much_smaller():
    config = LatentConfig(n_heads=128, d_head=128, d_rope=64, d_value=128, d_latent=512)
    assert config.numbers_per_layer == 576
    assert round(2 * 128 * 128 / config.numbers_per_layer, 1) == 56.9
    assert round(config.expanded_numbers_per_layer / config.numbers_per_layer, 1) == 71.1
    assert replace(config, n_layers=60).numbers_per_token == 34_560


# --- CLA ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heads", "d_head", "share", "n_bytes"),
    [
        (16, 128, 1, 163_840),
        (4, 128, 1, 40_960),
        (2, 128, 1, 20_480),
        (1, 128, 1, 10_240),
        (1, 128, 2, 5_120),
        (1, 64, 1, 5_120),
        (1, 128, 3, 3_584),
        (1, 128, 4, 2_560),
    ],
)
def test_published_cla_bytes_follow_from_the_owners(
    heads: int, d_head: int, share: int, n_bytes: int
):
    config = SharedConfig(n_layers=20, n_heads=16, n_kv_heads=heads, d_head=d_head, share=share)
    assert 2 * config.numbers_per_token == n_bytes


@pytest.mark.parametrize("share", [1, 2, 3, 5])
def test_only_owners_have_key_and_value_weights(share: int):
    model = SharedDecoder(SharedConfig(n_layers=5, share=share), 0)
    owners = [n for n, block in enumerate(model.blocks) if isinstance(block, OwningBlock)]
    assert tuple(owners) == model.config.owners
    assert len(model.new_cache(4)) == len(owners) == -(-5 // share)
    named = {key.split(".")[1] for key in model.state_dict() if "keys_values" in key}
    assert named == {str(owner) for owner in owners}


def test_sharing_by_one_is_the_plain_decoder():
    config = SharedConfig(n_layers=3, share=1)
    shared, plain = SharedDecoder(config, 0), Decoder(config, 0)
    renamed = {
        key.replace("attention.", "").replace("ends.", ""): key for key in plain.state_dict()
    }
    weights = plain.state_dict()
    theirs = {key: weights[renamed[key.replace("ends.", "")]] for key in shared.state_dict()}
    shared.load_state_dict(theirs)
    assert gap(shared(TOKENS), plain(TOKENS)) <= 1e-13


def gradient_through(readers: set[int]) -> Tensor:
    """The owner's value gradient when only some layers pass on what they read."""
    model = SharedDecoder(SharedConfig(n_layers=4, share=4), 0)
    for layer in set(range(4)) - readers:
        cast("OwningBlock", model.blocks[layer]).queries.o.weight.zero_()
    model.requires_grad_()
    model(TOKENS).square().sum().backward()
    gradient = cast("OwningBlock", model.blocks[0]).keys_values.v.weight.grad
    assert gradient is not None
    return gradient


def test_an_owner_learns_from_each_of_its_readers():
    assert not gradient_through(set()).any()
    for reader in range(4):
        assert gradient_through({reader}).abs().max() > 1e-6


# --- YOCO --------------------------------------------------------------------------------------

YOCO = Yoco(YocoConfig(n_layers=6), 0)


@settings(max_examples=12)
@given(n=st.integers(1, 13))
def test_leaving_early_gives_the_logits_of_the_full_prefill(n: int):
    cache = YOCO.new_cache(14)
    early = YOCO.last_logits(TOKENS[:n], cache)
    assert gap(early, YOCO(TOKENS[:n])[-1:]) <= 1e-12
    more = YOCO(TOKENS[:1], cache)
    assert gap(more, YOCO(torch.cat([TOKENS[:n], TOKENS[:1]]))[-1:]) <= 1e-11


def test_leaving_early_saves_the_upper_half_of_the_work():
    counts = []
    for run in (YOCO, YOCO.last_logits):
        heard: list[int] = []
        run(
            TOKENS,
            None,
            lambda name, x, to=heard: to.append(x.shape[1]) if name[-2:] == ".q" else None,
        )
        counts.append(sum(heard))
    assert counts == [6 * 13, 3 * 13 + 3]


def test_yoco_keeps_windows_and_one_global_store():
    cache = YOCO.new_cache(13)
    YOCO(TOKENS, cache)
    rows = [store.read()[0].shape[-2] for store in cache.stores]
    assert rows == [3, 3, 3, 13]
    assert cache.nbytes_held == 8 * YOCO.config.cached_numbers(13)


def test_yoco_refuses_an_odd_number_of_layers():
    with pytest.raises(BadInput, match="5 layers"):
        YocoConfig(n_layers=5)


# --- sinks -------------------------------------------------------------------------------------


def test_a_sink_that_is_never_chosen_changes_nothing_and_zero_is_off_by_one():
    scores = normal(2, 3, 4)
    never = torch.full((2,), -torch.inf).double()
    assert torch.equal(softmax_with_sink(scores, never), scores.softmax(dim=-1))
    by_one = scores.exp() / (1 + scores.exp().sum(dim=-1, keepdim=True))
    assert gap(softmax_with_sink(scores, torch.zeros(2).double()), by_one) <= 1e-15


def test_a_sink_weighs_as_a_key_with_an_empty_value_would():
    q, k, v = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)
    null = torch.zeros(2, 1, 4).double()
    as_key, _ = attend(q, torch.cat([k, null], dim=1), torch.cat([v, null], dim=1))
    assert gap(attend_with_sink(q, k, v, torch.zeros(2).double())[0], as_key) <= 1e-14


def test_the_sink_of_the_worked_example_takes_its_share():
    weights = softmax_with_sink(torch.tensor([[[1.0, 2.0]]]).double(), torch.zeros(1).double())
    assert weights.flatten().tolist() == pytest.approx([0.24473, 0.66524], abs=1e-5)
    assert float(weights.sum()) == pytest.approx(0.90997, abs=1e-5)
