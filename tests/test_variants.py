"""The toy's trained variants: their caches change nothing, and hold what the formula says."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from model.toy.arithmetic import FixedOrder
from model.toy.config import ToyConfig
from model.toy.datasets import draw_held_out
from model.toy.decode import Step, decode_cached, decode_naive, forced, prefill
from model.toy.evaluate import SEED, mark, share
from model.toy.lexicon import english_words
from model.toy.network import Network
from model.toy.parameters import shapes as plain_shapes
from model.toy.variants import latent, shared, window
from model.toy.variants.catalogue import DRAFTS, TRAINED, VARIANTS
from model.toy.variants.latent import AbsorbedNetwork
from model.toy.variants.results import middle, result, weights_path
from model.toy.variants.run import (
    GROUPED,
    changes,
    gaps,
    grouped,
    latents,
    network_of,
    parameters_of,
    prepared,
    steps_of,
    tiled_gap,
    written_by_all,
)
from model.toy.variants.tiled import TiledNetwork
from model.toy.variants.train import KINDS, STEPS, network_with
from model.toy.weights import DECIMALS, checksum, load

EXAMPLE = "The black cat sees a white bird."
FLOAT_BYTES = 8

every_variant = pytest.mark.parametrize("name", TRAINED)
words = st.one_of(
    st.sampled_from(english_words()),
    st.sampled_from(["🍕", "日本語", "naïve", "don't", "<b>", "x" * 30]),
)
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@torch.inference_mode()
def both_runs(network: Network, text: str) -> tuple[list[Step], list[Step]]:
    _, source = prepared(network, text)
    naive = list(decode_naive(network, source, mask=network.mask))
    return naive, list(decode_cached(network, source))


# the cache changes nothing


@every_variant
@settings(max_examples=25)
@given(text=texts)
def test_the_cache_changes_no_word_and_no_bit_of_any_logit(name: str, text: str):
    naive, cached = both_runs(network_of(name), text)
    assert [step.word for step in naive] == [step.word for step in cached]
    assert float(gaps(naive, cached).max()) == 0.0


@every_variant
@given(text=texts)
def test_numbers_kept_are_the_formula_s_and_the_measured_ones(name: str, text: str):
    variant = TRAINED[name]
    for count, step in enumerate(steps_of(network_of(name), text), start=1):
        rows = min(count, variant.most_words or count)
        assert step.cache_bytes == variant.numbers_per_token * rows * FLOAT_BYTES


@every_variant
def test_rows_kept_never_change_while_they_are_kept(name: str):
    if TRAINED[name].most_words:
        pytest.skip("rows leave this cache")
    for earlier, later in pairwise(steps_of(network_of(name), EXAMPLE)):
        for a, b in zip(earlier.decoded.layers, later.decoded.layers, strict=True):
            n = a.attention.k.shape[-2]
            assert torch.equal(a.attention.k, b.attention.k[:, :n])
            assert torch.equal(a.attention.v, b.attention.v[:, :n])


@pytest.mark.parametrize("name", [name for name in TRAINED if not TRAINED[name].most_words])
@given(data=st.data())
@torch.inference_mode()
def test_every_split_of_a_prompt_gives_the_same_rows(name: str, data: st.DataObject):
    network = network_of(name)
    _, source = prepared(network, EXAMPLE)
    prompt = [step.word for step in decode_cached(network, source)][:7]
    split, rest = [], len(prompt)
    while rest:
        split.append(data.draw(st.integers(1, rest)))
        rest -= split[-1]
    whole, cut = (prefill(network, source, prompt, s) for s in ([len(prompt)], split))
    assert torch.equal(whole.y, cut.y)
    for a, b in zip(whole.keys_values, cut.keys_values, strict=True):
        assert torch.equal(a.k, b.k)
        assert torch.equal(a.v, b.v)


# PyTorch as oracle


@every_variant
def test_each_attention_is_pytorchs_own(name: str):
    """Queries, keys and values as recorded, through torch's kernel."""
    for step in steps_of(network_of(name), EXAMPLE):
        for layer in step.decoded.layers:
            for one in (layer.attention, layer.cross):
                expected = scaled_dot_product_attention(
                    one.q[None], one.k[None], one.v[None], enable_gqa=True
                )[0]
                assert (one.heads - expected).abs().max() <= 1e-11


@given(text=texts)
def test_mla_absorbed_is_mla_expanded_up_to_rounding(text: str):
    found = latents(text)
    assert found.gap.max() <= 1e-10
    np.testing.assert_allclose(found.expanded_scores, found.absorbed_scores, atol=1e-11)


@torch.inference_mode()
def test_mla_keys_are_the_latents_expanded_by_hand():
    found, parameters = latents(EXAMPLE), parameters_of("mla")
    for index, layer in enumerate(parameters.decoder):
        keys = torch.from_numpy(found.latent[index]) @ layer.up
        for head in range(2):
            own = keys[:, 4 * head : 4 * head + 4].numpy()
            np.testing.assert_allclose(found.expanded_keys[index, head, :, :4], own, atol=1e-12)
            np.testing.assert_allclose(
                found.expanded_keys[index, head, :, 4:], found.rope_key[index], atol=1e-13
            )


def test_mla_scale_is_that_of_the_expanded_keys():
    found = latents(EXAMPLE)
    query = np.concatenate([found.latent, found.rope_key], -1)
    for layer in range(2):
        for head in range(2):
            scores = query[layer] @ found.absorbed_query[layer, head] / np.sqrt(4 + latent.D_ROPE)
            np.testing.assert_allclose(scores, found.absorbed_scores[layer, head], atol=1e-12)


# what each variant claims


def test_the_reader_layer_of_cla_has_no_keys_of_its_own():
    config = ToyConfig()
    plain, fewer = plain_shapes(config), shared.shapes(config)
    gone = {name for name in plain if name not in fewer}
    assert gone == {"decoder.1.cross_kv"}
    assert (plain["decoder.1.qkv"], fewer["decoder.1.qkv"]) == ((8, 24), (8, 8))
    for step in steps_of(network_of("cla"), EXAMPLE):
        first, second = (layer.attention for layer in step.decoded.layers)
        assert torch.equal(first.k, second.k)
        assert not torch.equal(first.q, second.q)


def test_a_windowed_word_reads_the_last_rows_alone():
    steps = steps_of(network_of("window"), EXAMPLE)
    assert len(steps) > window.WINDOW
    for count, step in enumerate(steps, start=1):
        for layer in step.decoded.layers:
            assert layer.attention.weights.shape[-1] == min(count, window.WINDOW)


def test_the_window_mask_is_causal_and_as_wide_as_the_window():
    for seen in range(1, 9):
        for new in range(1, seen + 1):
            mask = window.windowed(new, seen)
            for a in range(new):
                place = seen - new + a
                reads = [j for j in range(seen) if mask[a, j]]
                assert reads == list(range(max(0, place - window.WINDOW + 1), place + 1))


@pytest.mark.parametrize("n_kv_heads", GROUPED)
def test_the_wrong_order_of_heads_shows_only_where_there_is_one(n_kv_heads: int):
    gap = tiled_gap(EXAMPLE, written(EXAMPLE), n_kv_heads)
    assert (gap > 1e-3) == (n_kv_heads == 2)


def written(text: str) -> list[int]:
    return [step.word for step in steps_of(network_of("mha"), text)]


def test_tiling_is_repeat_where_grouping_is_repeat_interleave():
    config = VARIANTS["four-heads-gqa"].config
    q, out = torch.randn(4, 1, 2), torch.eye(8)
    k, v = torch.randn(2, 3, 2), torch.randn(2, 3, 2)
    parameters = parameters_of("four-heads-gqa")
    tiled = TiledNetwork(config, parameters, FixedOrder())._attend(q, k, v, out)
    grouped_by_torch = scaled_dot_product_attention(
        q[None], k.repeat(2, 1, 1)[None], v.repeat(2, 1, 1)[None]
    )[0]
    assert (tiled.heads - grouped_by_torch).abs().max() < 1e-6


@given(text=texts)
def test_grouping_leaves_the_scores_and_saves_the_projections(text: str):
    ids = written(text)
    found = grouped(text, ids)
    network = network_of("four-heads")
    n_source = len(prepared(network, text)[1].memory)
    assert len({one.scores for one in found.values()}) == 1
    for n_kv_heads, one in found.items():
        fewer = 2 * (4 - n_kv_heads) * 2  # columns of the key and value projections
        saved = 2 * (len(ids) + n_source) * 8 * fewer
        assert found[4].multiply_adds - one.multiply_adds == saved
        assert found[4].cache_bytes == one.cache_bytes * 4 // n_kv_heads
        assert one.k.nbytes + one.v.nbytes == one.cache_bytes


# the reader's sentence


def test_changed_words_are_those_the_plain_variant_did_not_write():
    found = written_by_all(EXAMPLE)
    plain = found["mha"].words
    assert set(found) == set(VARIANTS)
    assert not any(found["mha"].changed)
    for one in found.values():
        kept = [w for w, changed in zip(one.words, one.changed, strict=True) if not changed]
        rest = iter(plain)
        assert all(word in rest for word in kept)  # kept words stand in the plain order


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_changes_are_none_exactly_where_nothing_was_put_in(one: list[str], plain: list[str]):
    found = changes(one, plain)
    assert len(found) == len(one)
    if one == plain:
        assert not any(found)
    if not set(one) & set(plain):
        assert all(found)


def test_the_absorbed_network_reads_the_naive_one_s_cache_rows():
    network = network_of("mla")
    naive = steps_of(network, EXAMPLE)
    absorbed = AbsorbedNetwork(network.config, network.parameters, FixedOrder())
    steps = steps_of(absorbed, EXAMPLE, forced([step.word for step in naive]))
    assert [s.cache_bytes for s in steps] == [s.cache_bytes for s in naive]


# how they were trained and measured


@every_variant
def test_shipped_weights_are_those_measured_and_are_written_in_three_decimals(name: str):
    variant, path = TRAINED[name], weights_path(name)
    weights = load(variant.config, path, variant.design.shapes)
    assert result(name).checksum == checksum(path.read_text())
    assert result(name).weights == sum(tensor.numel() for tensor in weights.values())
    for tensor in weights.values():
        assert torch.equal(tensor, torch.round(tensor * 10**DECIMALS) / 10**DECIMALS)


def test_the_toy_that_drafts_is_smaller_than_the_toy_it_drafts_for():
    for name in DRAFTS:
        assert result(name).weights < result("mha").weights
        assert DRAFTS[name].numbers_per_token < VARIANTS["mha"].numbers_per_token


def test_every_variant_had_the_same_budget():
    budgets = {(r.steps, r.seeds, r.sentences) for r in map(result, TRAINED)}
    assert budgets == {(STEPS, (0, 1, 2), result("mha").sentences)}
    assert all("model.toy.variants.train" in result(name).command for name in TRAINED)


@every_variant
def test_the_weights_kept_are_the_median_seed_s(name: str):
    found = result(name)
    assert len(found.grammar) == len(found.seeds) == 3
    assert found.kept_seed == found.seeds[middle(found.grammar)]
    assert sorted(found.grammar)[1] == found.median
    assert found.spread == max(found.grammar) - min(found.grammar)


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_the_accuracy_shown_is_measured_again_to_the_last_sentence(kind: str):
    name = "four-heads-gqa"
    variant, found = VARIANTS[name], result(name)
    network = network_with(variant, load(variant.config, weights_path(name), variant.design.shapes))
    pairs = draw_held_out(kind, found.sentences, split="test", seed=SEED, max_words=12)
    exact = share([right for _, right in mark(network, pairs).right])
    assert exact == getattr(found, kind)[found.seeds.index(found.kept_seed)]
