"""Every bug of the lab is caught by the test it names, and does what the lab says it does."""

import html
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest
import torch

from app.__main__ import main
from app.pages import build
from app.source import source_of
from figures.bug_trace import outcomes
from model.attention.attend import attend, share_heads
from model.attention.heads import Attention, Parts
from model.bugs import bench_toy, drafts, heads, masks, positions, rotary, slots, windows
from model.bugs.bug import EXACT, load
from model.bugs.catalogue import BUGS
from model.bugs.run import run_bug
from model.config import DecoderConfig
from model.decoder import Decoder
from model.masks import causal, mask
from model.padding import next_place, places
from model.rope import rotate
from model.storage.base import Room
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring
from model.toy.config import ToyConfig

every_bug = pytest.mark.parametrize("name", BUGS)
ROOT = Path(__file__).parents[1]
FEWEST = 22


def law_of(name: str) -> Callable[..., None]:
    """The very test that `caught_by` names, with its parametrised arguments bound."""
    path, _, test = BUGS[name].caught_by.partition("::")
    function = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), test)
    given = [m for m in getattr(function, "pytestmark", ()) if m.name == "parametrize"]
    return partial(function, **{m.args[0]: m.args[1][-1] for m in given})


ONE_OF_EACH_LAW = {(bug.caught_by, bug.seam): name for name, bug in BUGS.items()}.values()


@pytest.mark.parametrize("name", ONE_OF_EACH_LAW)
def test_the_law_that_is_named_passes_without_the_bug(name: str):
    law_of(name)(**{BUGS[name].seam: load(BUGS[name].right)})


@every_bug
def test_the_law_that_is_named_fails_with_the_bug(name: str):
    with pytest.raises(AssertionError):
        law_of(name)(**{BUGS[name].seam: load(BUGS[name].twin)})


@every_bug
def test_only_with_the_bug_does_anything_differ(name: str):
    bug, outcome = BUGS[name], run_bug(name)
    assert outcome.without <= bug.tolerance
    assert bug.tolerance == EXACT or "Kivi" in bug.right
    told = [reading for reading in outcome.readings if reading.right != reading.wrong]
    assert outcome.first_bad_step is not None or told
    assert outcome.written_right != outcome.written_wrong or not outcome.written_right


@every_bug
def test_an_outcome_is_plain_data_and_the_same_every_time(name: str):
    outcome = run_bug(name)
    assert asdict(run_bug.__wrapped__(name)) == asdict(outcome)
    json.dumps(asdict(outcome), allow_nan=False)


def test_there_are_enough_bugs_and_each_is_told_in_its_own_words():
    assert len(BUGS) >= FEWEST
    for name, bug in BUGS.items():
        assert bug.id == name
        assert 2 <= len(re.findall(r"[.?!](?=\s|$)", bug.story)) <= 4, name
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", bug.source), name
        assert source_of(bug.right_shown)["code"] != source_of(bug.twin)["code"]
    assert len({bug.title for bug in BUGS.values()}) == len(BUGS)
    assert len({bug.twin for bug in BUGS.values()}) == len(BUGS)


MEASURED = {
    # bugs measured on another decoder with 40 seeds: the first bad step, None for never
    "position-zero": 1,
    "position-plus-one": 1,
    "shared-offset": 1,
    "rope-twice": 1,
    "gqa-tiled": 0,
    "top-left-mask": 1,
    "mask-skipped": 0,
    "window-plus-one": 0,
    "stale-prefix": 0,
    "fed-twice": 1,
    "rejected-drafts-left": 2,
    "ring-read-start": 0,
    "rope-layout": None,
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_first_bad_step_is_the_one_that_others_measured(name: str):
    assert run_bug(name).first_bad_step == MEASURED[name]


# small reproductions, computed by hand


def column(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)[None, :, None]


def mixed(mask_: torch.Tensor | None, new: int, values: list[float]) -> list[float]:
    q, k = torch.zeros(1, new, 1).double(), torch.zeros(1, len(values), 1).double()
    return attend(q, k, column(*values), mask_)[0][0, :, 0].tolist()


@pytest.mark.parametrize(
    ("new", "right", "wrong"), [(1, [2.5], [1.0]), (2, [2.0, 2.5], [1.0, 1.5])]
)
def test_the_corner_of_the_mask_by_hand(new: int, right: list[float], wrong: list[float]):
    values = [1.0, 2.0, 3.0, 4.0]
    by_position = mask(causal, torch.arange(4 - new, 4), torch.arange(4))
    assert mixed(by_position, new, values) == right
    assert mixed(masks.top_left(new, 4), new, values) == wrong


def test_more_queries_than_keys_by_hand():
    by_position = mask(causal, torch.arange(-3, 2), torch.arange(2))
    assert by_position.sum(dim=-1).tolist() == [0, 0, 0, 1, 2]
    assert mixed(by_position, 5, [1.0, 2.0]) == [0.0, 0.0, 0.0, 1.0, 1.5]


def test_a_skipped_mask_by_hand():
    positions_ = torch.arange(3)
    right = mask(causal, positions_, positions_)
    wrong = mask(masks.none_with_a_cache(DecoderConfig(), 0), positions_, positions_)
    assert mixed(right, 3, [1.0, 2.0, 3.0]) == [1.0, 1.5, 2.0]
    assert mixed(wrong, 3, [1.0, 2.0, 3.0]) == pytest.approx([2.0, 2.0, 2.0], abs=1e-12)


def test_a_skipped_mask_cannot_be_seen_token_by_token():
    decoder = Decoder(DecoderConfig(), 0, parts=Parts(mask=masks.none_with_a_cache))
    tokens = torch.arange(9)
    cache = decoder.new_cache(9)
    one_by_one = torch.cat([decoder(token, cache) for token in tokens.split(1)])
    assert (one_by_one - Decoder(DecoderConfig(), 0)(tokens)).abs().max() <= EXACT


def test_empty_slots_by_hand():
    config = ToyConfig()
    ones = torch.ones(config.n_kv_heads, 2, config.d_head, dtype=torch.float64)
    query = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64).expand(2, 1, 4)
    k, v = slots.WholeSlab(config, 8).append(ones, ones)
    assert attend(query, k, v, scale=1.0)[0][0, 0, 0].item() == pytest.approx(0.47537, abs=5e-6)
    k, v = slots.Cache(config, 8).append(ones, ones)
    assert attend(query, k, v, scale=1.0)[0][0, 0, 0].item() == pytest.approx(1.0)


def turned(*at: int) -> torch.Tensor:
    """Keys (1, 0) turned by one radian a place."""
    unit = torch.tensor([[[1.0, 0.0]] * len(at)], dtype=torch.float64)
    return rotate(unit, torch.tensor(at))


def scores(query_at: int, *keys_at: int) -> list[float]:
    return (turned(query_at) @ turned(*keys_at).mT)[0, 0].tolist()


def test_position_zero_by_hand():
    assert scores(3, 0, 1, 2) == pytest.approx([-0.98999, -0.41615, 0.5403], abs=5e-6)
    assert scores(0, 0, 1, 2) == pytest.approx([1.0, 0.5403, -0.41615], abs=5e-6)


def test_left_padding_by_hand():
    real = torch.tensor([False, False, True, True, True])
    assert places(real)[2:].tolist() == [0, 1, 2]
    assert next_place(real) == 3
    assert positions.padded_length(real) == 5
    assert scores(5, 0, 1, 2) == pytest.approx([0.28366, -0.65364, -0.98999], abs=5e-6)


def test_a_hole_by_hand():
    """Three tokens, uniform scores, values 1: the recycled slot holds 100."""
    room = Room(kv_heads=1, d_key=1, d_value=1, capacity=6)
    for make, expected in ((Contiguous, 1.0), (slots.OneSlotFurther, 20.8)):
        store = make(room)
        store.v.fill_(100.0)
        store.append(column(0, 0, 0), column(1, 1, 1))
        k, v = store.append(column(0), column(1))
        found, _ = attend(column(0), k.nan_to_num(), v)
        assert found.item() == pytest.approx(expected)


def test_a_key_turned_again_by_hand():
    store = rotary.TurnedAgain(Room(kv_heads=1, d_key=2, d_value=1, capacity=9))
    store.append(turned(0, 1), column(0, 0))
    for place in (2, 3, 4):
        k, _ = store.append(turned(place), column(0))
    assert (turned(4) @ k[:, 1:2].mT).item() == pytest.approx(1.0)  # cos 0, not cos 3


def test_a_shared_offset_by_hand():
    seen: list[int] = []
    parts = Parts(rotate=lambda x, at, base: seen.append(int(at[0])) or rotate(x, at, base))
    for attention, expected in (
        (Attention, [5, 5, 5]),
        (positions.OffsetMovedByTheFirstLayer, [5, 6, 6]),
    ):
        decoder = Decoder(DecoderConfig(n_layers=3), 0, parts=parts, attention=attention)
        cache = decoder.new_cache(9)
        decoder(torch.arange(5), cache)
        seen.clear()
        decoder(torch.tensor([5]), cache)
        assert seen[::2] == expected == seen[1::2]


def test_tiled_heads_by_hand():
    values = torch.tensor([[[10.0]], [[20.0]]])
    assert share_heads(values, 4).flatten().tolist() == [10, 10, 20, 20]
    assert heads.tiled(values, 4).flatten().tolist() == [10, 20, 10, 20]


def test_a_ring_read_from_the_oldest_by_hand():
    """Window 4, 5 tokens past: slots hold 4 1 2 3, and the next token needs 2 3 4."""
    room = Room(kv_heads=1, d_key=1, d_value=1, capacity=9)
    for make, expected in (
        (Ring, {2.0, 3.0, 4.0, 5.0}),
        (windows.ReadFromTheOldest, {1.0, 2.0, 3.0, 5.0}),
    ):
        store = make(room, window=4)
        for token in range(5):
            store.append(column(token), column(token))
        assert store.read()[0].flatten().tolist() == [4, 1, 2, 3]
        assert set(store.append(column(5), column(5))[0].flatten().tolist()) == expected


def test_a_ring_rewound_by_hand():
    """Window 4 holding 4 5 2 3, drafts 6 7 refused: 2 and 3 are gone."""
    store = windows.RewoundAnyway(Room(kv_heads=1, d_key=1, d_value=1, capacity=9), window=4)
    for token in range(8):
        store.append(column(token), column(token))
    store.crop(6)
    assert store.read()[0].flatten().tolist() == [4, 5]


def test_small_floats_by_hand():
    counted = torch.tensor([257, 259, 1001, 4095, 15962])
    assert counted.bfloat16().long().tolist() == [256, 260, 1000, 4096, 15936]
    assert len(torch.arange(4096).bfloat16().unique()) == 769


def test_the_acceptance_law_by_hand():
    target, draft = drafts.TARGET, drafts.DRAFT
    assert load(BUGS["acceptance-law"].right)(target, draft).tolist() == [1.0, 0.0, 0.0]
    wrong = drafts.softmax_of_the_rest(target, draft).tolist()
    assert wrong == pytest.approx([0.42723, 0.28638, 0.28638], abs=5e-6)
    law = drafts.one_draft(drafts.softmax_of_the_rest).found[0].tolist()
    assert law == pytest.approx([0.37089, 0.41455, 0.21455], abs=5e-6)


def test_the_key_axis_by_hand():
    laws = importlib.import_module("tests.test_serving_laws")
    query = torch.tensor([0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    bug = BUGS["key-axis"]
    right, wrong = (laws.keys_read_back(load(one)) @ query for one in (bug.right, bug.twin))
    assert right.tolist() == pytest.approx([0.2, -0.3, 0.3, -0.2], abs=0.04)
    assert wrong.tolist() == pytest.approx([-0.6, -0.9, -0.6, -0.9], abs=0.05)


READINGS = {
    "shared-prefix-mutated": (7, 11),
    "block-boundary": ("0, 1, 1, 2, 2", "1, 1, 2, 2, 3"),
    "heads-copied": (8192, 16384),
}


@pytest.mark.parametrize("name", READINGS)
def test_the_numbers_that_show_it_by_hand(name: str):
    reading = run_bug(name).readings[0]
    assert (reading.right, reading.wrong) == READINGS[name]


def test_the_whole_prompt_is_found_and_nothing_runs():
    found, run = run_bug("full-prefix-hit").readings
    assert (found.right, run.right) == (4, 4)
    assert (found.wrong, run.wrong) == (8, 0)
    assert run_bug("full-prefix-hit").steps[0].wrong is None


def test_the_toy_translates_the_sentence_before():
    outcome = run_bug("cross-store-stale")
    network = bench_toy.Network(*bench_toy.shipped(), bench_toy.FixedOrder())
    _, source = bench_toy.source_of(
        network, bench_toy.understand(bench_toy.EARLIER, network.config)
    )
    words = [step.word for step in bench_toy.decode_naive(network, source)][:-1]
    assert outcome.written_wrong == " ".join(bench_toy.shown(network)[word] for word in words)


def test_a_cut_source_by_hand():
    zeros, values = torch.zeros(1, 6, 1).double(), column(1, 2, 3, 4, 5, 6)
    whole, _ = attend(torch.zeros(1, 1, 1).double(), zeros, values)
    cut, _ = attend(torch.zeros(1, 1, 1).double(), zeros[:, -4:], values[:, -4:])
    assert (whole.item(), cut.item()) == pytest.approx((3.5, 4.5))


def test_the_command_lists_every_bug(capsys: pytest.CaptureFixture[str]):
    assert main(["bugs", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["bugs"]
    assert [one["id"] for one in told] == list(BUGS)
    for one in told:
        assert {"title", "source", "first_bad_step", "caught_by"} <= one.keys()
        assert one["first_bad_step"] == run_bug(one["id"]).first_bad_step


def test_every_test_that_is_named_is_collected():
    for bug in BUGS.values():
        path, _, test = bug.caught_by.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")


# the page


MUST_BE_THERE = {
    "top-left-mask",
    "empty-slots",
    "position-zero",
    "off-by-one-hole",
    "rope-twice",
    "stale-prefix",
    "shared-prefix-mutated",
    "gqa-tiled",
    "ring-read-start",
    "window-plus-one",
    "rejected-drafts-left",
    "draft-row-missing",
    "key-axis",
    "no-copy-on-write",
    "hash-without-parent",
    "full-prefix-hit",
    "cross-store-cut",
    "beam-reorder",
    "left-padding",
    "rounding-or-bug",
}


def test_the_bugs_that_people_meet_most_are_all_there():
    assert set(MUST_BE_THERE) <= set(BUGS)
    assert len(MUST_BE_THERE) >= 20


@pytest.fixture(scope="module")
def entries() -> dict[str, str]:
    """The text of the lab's page, by bug, as it is read."""
    sections = re.split(r'<section class="step bug" id="', build("/break-it").body)[1:]
    return {
        one.partition('"')[0]: " ".join(html.unescape(re.sub(r"<[^>]+>", " ", one)).split())
        for one in sections
    }


@every_bug
def test_an_entry_tells_all_there_is_to_tell(name: str, entries: dict[str, str]):
    bug, outcome, entry = BUGS[name], run_bug(name), entries[name]
    told = [bug.title, bug.story, bug.source, bug.fix, bug.caught_by, bug.seam]
    for words in told:
        assert " ".join(words.split()) in entry, words
    assert "Switch it off" in entry
    assert "Switch it on" in entry
    for reference in (bug.right_shown, bug.twin):
        first_line = source_of(reference)["code"].strip().splitlines()[0]
        assert " ".join(first_line.split()) in entry
    if outcome.written_right:
        assert outcome.written_right in entry
        assert str(outcome.written_wrong) in entry
    for reading in outcome.readings:
        assert reading.name in entry
    shown_in_words = outcome.first_bad_step is not None and outcome.n_wrong
    assert shown_in_words or outcome.readings or outcome.largest, "nothing shows it"


@every_bug
def test_the_figure_is_given_what_the_run_found(name: str):
    outcome = run_bug(name)
    shown = outcomes()[list(BUGS).index(name)]
    assert shown["first_bad_step"] == outcome.first_bad_step
    assert shown["largest"] == outcome.largest
    assert shown["without"] == outcome.without
    assert [step["wrong"] for step in shown["steps"]] == [step.wrong for step in outcome.steps]
