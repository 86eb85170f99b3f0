"""Lesson 2's figures say what the model says, and the published numbers come out of formulas."""

import base64
from typing import Any

import numpy as np
import pytest
import torch

from app.runs import PARTS
from app.variant_runs import REORDERED
from figures.base import own_params
from figures.grouping_work import KV_HEADS, GroupingWork
from figures.grouping_work import TOKENS as GROUPING_TOKENS
from figures.head_wiring import N_HEADS, HeadWiring
from figures.layer_wiring import LAYERS, SCHEMES, LayerWiring
from figures.layer_wiring import TOKENS as LAYER_TOKENS
from figures.mla import Mla
from figures.model_sizes import MODELS, ModelSizes
from figures.quality_cache import QualityCache
from figures.quantised import FORMATS as SHOWN_FORMATS
from figures.v4_layers import V4Layers
from figures.variant_words import NAMES, VariantWords
from model.attention.attend import share_heads
from model.attention.shared import SharedConfig, SharedDecoder
from model.attention.yoco import Yoco, YocoConfig
from model.facts import fact
from model.sharing import prefill_positions, reads_of
from model.sizing.catalogue import load
from model.sizing.question import Question
from model.sizing.size import size
from model.toy.record import record
from model.toy.stored import FORMATS
from model.toy.variants.catalogue import VARIANTS
from model.toy.variants.results import result
from model.toy.variants.run import latents, network_of, steps_of, words_of

EXAMPLE = "The black cat sees a white bird."


def arrays(part: dict[str, Any]) -> dict[str, np.ndarray]:
    block = np.frombuffer(base64.b64decode(part["data"]), "<f8")
    return {
        name: block[entry["offset"] :][: int(np.prod(entry["shape"]))].reshape(entry["shape"])
        for name, entry in part["arrays"].items()
    }


# what is offered is what there is


def test_the_variants_named_are_the_variants_trained():
    assert {name: VARIANTS[name].label for name in NAMES.values()} == {
        name: label for label, name in NAMES.items()
    }
    assert set(NAMES.values()) == set(VARIANTS)


def test_the_stores_named_are_the_stores_run():
    assert set(SHOWN_FORMATS.values()) == set(FORMATS)


def test_sharing_schemes_named_are_the_schemes_computed():
    assert set(SCHEMES.values()) == set(LayerWiring.data()["schemes"])


# heads


def test_wires_follow_repeat_interleave_and_the_wrong_ones_follow_repeat():
    data = HeadWiring.data()
    for n in (4, 2, 1):
        heads = torch.arange(n)
        assert data["reads"][n] == heads.repeat_interleave(N_HEADS // n).tolist()
        assert data["dealt"][n] == heads.repeat(N_HEADS // n).tolist()
        assert data["reads"][n] == share_heads(heads.reshape(n, 1, 1), N_HEADS).flatten().tolist()
    assert [n for n in (4, 2, 1) if data["reads"][n] != data["dealt"][n]] == [REORDERED]


def test_rows_drawn_are_the_rows_kept():
    part = PARTS["heads"](EXAMPLE)
    sent = arrays(part)
    for n, told in part["heads"].items():
        kept = sent[f"heads.{n}.k"].nbytes + sent[f"heads.{n}.v"].nbytes
        assert told["bytes"] == kept
        assert kept == HeadWiring.data()["numbers"][int(n)] * 8 * len(record(EXAMPLE).words)
    assert part["tiled_gap"] > 1e-3


def test_fewer_heads_keep_less_and_ask_as_much():
    for seen, at in zip(GROUPING_TOKENS, GroupingWork.data()["served"], strict=True):
        many, _, one = at
        assert many["scores"] == one["scores"] == 32 * 2 * 2 * 32 * 128 * seen
        assert many["kept"] == one["kept"] * KV_HEADS[0]
        projections = 32 * 2 * 2 * 4096 * 128 * (KV_HEADS[0] - 1)
        assert many["all"] - one["all"] == projections


# MLA


def test_the_latents_sent_are_the_latents_kept():
    sent, found = arrays(PARTS["latent"](EXAMPLE)), latents(EXAMPLE)
    np.testing.assert_array_equal(sent["latent.latent"], found.latent)
    np.testing.assert_array_equal(sent["latent.scores"], found.expanded_scores)
    data = Mla.data()
    assert data["numbers"] == 2 * (found.latent.shape[-1] + found.rope_key.shape[-1])
    assert found.cache_bytes == 8 * data["numbers"] * len(found.words)


def test_published_sizes_of_mla_come_out_of_the_formulas():
    assert fact("mla-numbers-per-layer").text == "576"
    assert fact("mla-against-mha").text == "32,768"
    assert fact("mla-smaller-than-mha").text == "56.9"
    assert fact("mla-against-expanded").text == "40,960"
    assert fact("mla-smaller-than-expanded").text == "71.1"
    assert fact("mla-expansion-flops").text == "33,554,432"


# layers


def test_cla_owners_are_the_first_of_every_group():
    schemes = LayerWiring.data()["schemes"]
    assert schemes["cla-3"]["owners"] == (0, 3, 6, 9, 12, 15, 18)
    assert [schemes[n]["per_token"] for n in ("plain", "cla-2", "cla-3")] == [10_240, 5_120, 3_584]
    for scheme in schemes.values():
        assert set(scheme["owner_of"]) == set(scheme["owners"])


def test_sharing_saves_room_and_no_reading():
    schemes = LayerWiring.data()["schemes"]
    for i, tokens in enumerate(LAYER_TOKENS):
        assert schemes["cla-2"]["bytes"][i] * 2 == schemes["plain"]["bytes"][i]
        assert schemes["cla-2"]["read"][i] == schemes["plain"]["read"][i] == LAYERS * tokens
    assert reads_of([0, 0, 2], [5, 9, 7]) == 17


def test_bytes_of_a_sharing_scheme_are_what_its_cache_measures():
    config = SharedConfig(n_layers=4, share=2)
    cache = SharedDecoder(config, seed=0).new_cache(9)
    SharedDecoder(config, seed=0)(torch.arange(9), cache)
    assert cache.nbytes == 8 * config.cached_numbers(9)


@pytest.mark.parametrize("early", [False, True])
def test_prefill_positions_are_the_ones_yoco_computes(early: bool):  # noqa: FBT001 -- both ways
    config = YocoConfig(n_layers=4, window=3)
    model, tokens = Yoco(config, seed=0), torch.arange(7)
    computed: dict[str, int] = {}

    def probe(name: str, tensor: torch.Tensor) -> None:
        if name.endswith(".weights"):
            computed[name] = tensor.shape[-2]

    (model.last_logits if early else model)(tokens, None, probe)
    n_upper = config.n_layers - config.n_lower if early else 0
    assert tuple(computed.values()) == prefill_positions(config.n_layers, 7, n_upper)


# DeepSeek-V4.1-Flash


def test_890_bytes_add_up():
    data = V4Layers.data()
    assert data["sums"] == [40_960, 2_560, 720, 890]
    by_hand = sum((data["row"]["main"] + data["row"]["index"]) / o["ratio"] for o in data["owners"])
    assert by_hand == data["sums"][-1]
    kinds = [layer["kind"] for layer in data["layers"]]
    assert [kinds.count(kind) for kind in ("window", "full", "reindex", "reuse")] == [2, 4, 4, 30]
    assert data["layers"][26] == {"kind": "reuse", "owner": 20, "chooser": 24, "ratio": 1}
    assert data["bytes"] == 890 * 2**20


# the trained variants


def test_the_chart_names_every_variant_and_has_a_place_for_every_seed():
    for one in QualityCache.data()["variants"]:
        found = result(one["name"])
        assert (one["grammar"], one["unknown"]) == (found.grammar, found.unknown)
        variant = VARIANTS[one["name"]]
        assert one["row"] == f"{variant.short}: {variant.numbers_per_token} numbers"
    rows = [one["row"] for one in QualityCache.data()["variants"]]
    assert len(set(rows)) == len(rows)
    assert set(QualityCache.plot().y_range.factors) == set(rows)  # pyright: ignore[reportAttributeAccessIssue]


def test_words_sent_are_the_words_written():
    part = PARTS["variants"](EXAMPLE)["variants"]
    assert set(part) == {one["name"] for one in VariantWords.data()["variants"]}
    for name, told in part.items():
        network = network_of(name)
        steps = steps_of(network, EXAMPLE)
        written = words_of(network, steps)
        assert told["bytes"] == steps[-1].cache_bytes
        assert len(told["words"]) == len(written)
        assert [w for w in told["words"] if w.isalpha()] == [w for w in written if w.isalpha()]


# fewer bits


def test_the_rows_beside_the_exact_ones_are_a_smaller_store_s():
    part, exact = PARTS["stored"](EXAMPLE), arrays(PARTS["run"](EXAMPLE))
    sent = arrays(part)
    for name, told in part["stored"].items():
        for kind in "kv":
            error = np.abs(sent[f"stored.{name}.{kind}"] - exact[kind]).max()
            assert told["error"][kind] == error > 0


def test_rows_that_wait_are_counted_in_the_bytes_of_kivi_alone():
    told = PARTS["stored"](EXAMPLE)["stored"]
    words = len(arrays(PARTS["run"](EXAMPLE))["k"][0, 0])
    for name, one in told.items():
        n_keys, n_values = (words % 4, 4) if name.startswith("kivi") else (0, 0)
        assert one["waiting"] == (n_keys + n_values) * 2 * 2 * 4 * 8
    coded = (2 * words - words % 4 - 4) * 2 * 2 * 4 * 10 // 8
    assert told["kivi-2"]["bytes"] == told["kivi-2"]["waiting"] + coded


def test_published_bits_come_out_of_the_codecs():
    assert fact("fp4-bits-per-value").text == "4.5"
    assert fact("mxfp4-bits-per-value").text == "4.25"
    assert fact("int8-bits-per-value").text == "8.25"


# sizes


def test_bars_are_the_calculator_s_bytes():
    for name, told in zip(MODELS, ModelSizes.data()["models"], strict=True):
        for tokens, n_bytes in zip(ModelSizes.data()["tokens"], told["bytes"], strict=True):
            assert n_bytes == size(load(name), Question(tokens=tokens)).cache_bytes
        assert told["short"][8] == size(load(name), Question(tokens=9)).cache_bytes
        assert all(a >= b for a, b in zip(told["bare"], told["bytes"], strict=True))


@pytest.mark.parametrize(
    "figure", [HeadWiring, QualityCache, VariantWords, GroupingWork, Mla, LayerWiring, V4Layers]
)
def test_every_figure_of_the_lesson_has_something_to_turn(figure: Any):
    assert own_params(figure)
