"""What lesson 4 draws is what its models say: counts, rows, laws, and answers to the wire."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from app.deeper_runs import KNOBS
from app.lessons import load_lessons
from app.runs import DEFAULT_SENTENCE, EXAMPLES, part_of, trace_of
from figures.block_cost import SIZES, block_of, counted
from figures.choosing import first
from figures.recording import live, shown
from figures.schedule import timelines
from figures.speculation import GREEDY, Speculation, drafted
from model.attention.online_table import record_row
from model.engine.shipped import read_measurements, tell
from model.errors import BadInput
from model.positions_table import code_table, rotary_table
from model.rope import LAYOUTS, rotate
from model.sampling import Sampling
from model.serving.eviction_table import RECENT, causal_rows, kept_by_rule
from model.speculation_record import rows_after_refusal
from model.toy.choosing import N_SHOWN, allowed_logits, choose_again
from model.toy.drafts_measured import SMALLER, measured, settings
from model.toy.measure_drafts import held_out_sentences, over
from model.toy.variants.results import weights_path
from model.toy.weights import SHIPPED, checksum
from model.work_of import work_of

DEFAULTS = {"t": 1, "temperature": 400, "top_k": 8, "top_p": 90, "min_p": 5, "seed": 1}
every_sentence = pytest.mark.parametrize("text", EXAMPLES[:3])


def asked(**changed: object) -> str:
    return json.dumps({"text": DEFAULT_SENTENCE, **DEFAULTS, **changed})


def choice(**changed: object) -> dict[str, object]:
    return part_of("choice", asked(**changed), "somebody")


@every_sentence
def test_drafts_leave_the_words_of_the_page_as_they_are(text: str):
    trace = trace_of(text)
    found = drafted(trace)["drafted"]
    page = [shown(trace, word) for word in trace.words]
    for name, run in found.items():
        words = [word for one in run["rounds"] for word in one["tokens"]]
        assert run["n_tokens"] == len(words)
        assert run["tokens_a_pass"] == len(words) / len(run["rounds"])
        if f"/{GREEDY}/" in name:
            assert words == page, name
        assert run["same"] == (words == page)


@every_sentence
def test_rounds_leave_a_row_for_all_but_the_last_word(text: str):
    for name, run in drafted(trace_of(text))["drafted"].items():
        n_drafts, length = int(name[-1]), 1
        for one in run["rounds"]:
            length += len(one["tokens"])
            assert one["rows"] == length - 1
            assert one["draft_rows"] <= length - 1
            assert one["tokens"][: one["accepted"]] == one["drafted"][: one["accepted"]]
            assert len(one["odds"]) == min(len(one["drafted"]), one["accepted"] + 1)
            assert len(one["drafted"]) <= n_drafts
            if f"/{GREEDY}/" in name:
                assert set(one["odds"]) <= {0.0, 1.0}
        if name.startswith("ngram"):
            assert {one["draft_rows"] for one in run["rounds"]} == {0}


def test_words_a_pass_are_compared_with_the_closed_form_of_their_own_acceptance():
    for name, run in drafted(trace_of(DEFAULT_SENTENCE))["drafted"].items():
        a, g = run["acceptance"], int(name[-1])
        looked = sum(len(one["odds"]) for one in run["rounds"])
        assert a == sum(one["accepted"] for one in run["rounds"]) / looked
        closed = g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)
        assert run["expected"] == pytest.approx(closed, abs=1e-12)


def test_the_measurement_shipped_is_of_these_weights_and_covers_every_setting():
    found = measured()
    shipped = [checksum(path.read_text()) for path in (SHIPPED, weights_path(SMALLER))]
    assert found["checksums"] == shipped
    assert set(found["settings"]) == set(settings())
    for key, one in found["settings"].items():
        a, g = one["acceptance"], settings()[key][2]
        assert one["expected"] == pytest.approx((1 - a ** (g + 1)) / (1 - a), abs=1e-12)
        assert 1 <= one["words_a_pass"] <= g + 1


def test_the_measurement_shipped_is_measured_again_to_the_last_word():
    key = f"{SMALLER}/greedy/4"
    found = measured()
    again = over(held_out_sentences(found["sentences"]), *settings()[key])
    assert again == pytest.approx(found["settings"][key], abs=1e-12)


def test_the_enumeration_the_figure_quotes_covers_every_text():
    found = Speculation.data()["exact"]
    assert found["texts"] == found["choices"] ** found["words"]
    assert found["total"] == pytest.approx(1, abs=1e-12)
    assert 0 <= found["gap"] < 1e-12


@pytest.mark.parametrize("stand", [0, 2, 3])
def test_refused_drafts_leave_no_rows(stand: int):
    assert rows_after_refusal(rows=7, drafts=3, stand=stand) == 7 + 1 + stand


@every_sentence
@pytest.mark.parametrize("temperature", [0.0, 0.5, 4.0])
def test_stages_narrow_the_words_of_the_step(text: str, temperature: float):
    trace = trace_of(text)
    sampling = Sampling(temperature=temperature, top_k=5, top_p=0.9, min_p=0.05)
    found = choose_again(trace, 0, sampling, seed=2)
    assert found["kept"] == sorted(found["kept"], reverse=True)
    assert found["kept"][-1] >= 1
    assert found["words"][0] == trace.words[0]
    assert len(found["words"]) == N_SHOWN
    assert found["place"] is not None
    assert found["keeps"][-1][found["place"]]
    if not temperature:
        assert found["chosen"] == trace.words[0]


@every_sentence
def test_the_distribution_chosen_from_is_the_one_of_the_run(text: str):
    for step in trace_of(text).cached.steps:
        law = allowed_logits(step).softmax(dim=-1).numpy()
        np.testing.assert_allclose(law, step.probabilities, atol=1e-12)


def test_the_first_state_of_the_figure_is_what_the_server_answers():
    answer = part_of("choice", json.dumps(first()["asked"]), "somebody")
    assert answer == first()["answer"]


def test_a_choice_is_the_same_each_time_and_another_seed_may_choose_another():
    words = {
        choice(temperature=800, top_k=0, top_p=100, min_p=0, seed=n)["chosen"] for n in range(9)
    }
    assert choice() == choice()
    assert len(words) > 1


def test_what_is_out_of_bounds_is_brought_within():
    assert choice(top_p=10**6) == choice(top_p=100)
    assert choice(t=10**6)["t"] == len(trace_of(DEFAULT_SENTENCE).cached.steps) - 1
    assert choice(t=-5)["t"] == 0
    assert choice(temperature=-1)["chosen"] == choice(temperature=0)["chosen"]


@pytest.mark.parametrize("name", ["t", *KNOBS])
@pytest.mark.parametrize("value", [None, "1", 0.5, True, [], {}])
def test_what_is_no_number_is_refused_in_a_line(name: str, value: object):
    with pytest.raises(BadInput, match=name):
        choice(**{name: value})


@pytest.mark.parametrize("question", ["", "{}", "[1]", "no", "null", '{"text": "x"}', "[" * 9_000])
def test_what_is_no_question_is_refused_in_a_line(question: str):
    with pytest.raises(BadInput, match="JSON"):
        part_of("choice", question, "somebody")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shift_changes_the_stored_key_and_no_score(layout: str):
    q, k = np.array([1.0, 0.5, -0.5, 2.0]), np.array([0.3, 1.0, 2.0, -1.0])
    found = rotary_table(q, k, 6, (0, 3, 100))[layout]
    for shift in ("3", "100"):
        np.testing.assert_allclose(found[shift]["scores"], found["0"]["scores"], atol=1e-11)
        assert found[shift]["gap"] < 1e-11
        assert not np.allclose(found[shift]["stored"], found["0"]["stored"])
    places = torch.arange(6)
    turned = rotate(torch.from_numpy(q).expand(1, 6, -1), places, layout=LAYOUTS[layout])[0]
    by_hand = np.array(found["0"]["stored"]) @ turned[-1].numpy()
    np.testing.assert_allclose(found["0"]["scores"], by_hand, atol=1e-12)


def test_products_of_position_codes_know_the_distance_alone():
    found = code_table(6, (0, 7))
    np.testing.assert_allclose(found["7"]["products"], found["0"]["products"], atol=1e-12)
    assert len(set(np.round(found["0"]["products"], 6))) > 1


def test_no_block_size_changes_the_result_of_a_row():
    scores = np.array([-np.inf, -np.inf, 0.3, 900.0, -0.4, 902.0])
    found = record_row(scores, np.arange(12.0).reshape(6, 2), range(1, 9))
    assert found["gap"] < 1e-12
    assert found["scores"][:2] == [None, None]
    assert found["blocks"]["2"][0]["m"] is None
    json.dumps(found, allow_nan=False)


def test_two_numbers_and_a_row_as_wide_as_a_value_are_all_that_is_kept_of_a_row():
    for width in (1, 3):
        found = record_row(np.arange(4.0), np.ones((4, width)), (2,))
        for state in found["blocks"]["2"]:
            assert isinstance(state["m"], float)
            assert isinstance(state["l"], float)
            assert len(state["o"]) == width


@every_sentence
@pytest.mark.parametrize("rule", ["h2o", "snapkv"])
def test_a_rule_keeps_no_more_than_its_budget_and_the_newest_always(text: str, rule: str):
    rows = [
        torch.tensor(step.layers[1].attention.weights[0, -1])
        for step in trace_of(text).cached.steps
    ]
    n, budgets = len(rows), (3, 5, 40)
    found = kept_by_rule(causal_rows(rows), budgets)
    assert sum(found["received"]) == pytest.approx(n)
    for budget in budgets:
        ids = found[rule][str(budget)]["ids"]
        assert len(ids) == min(budget, n)
        assert set(range(n - RECENT, n)) <= set(ids)
    assert found[rule]["40"]["share"] == pytest.approx(1)


@pytest.mark.parametrize("name", [name for name in SIZES if name.startswith("Llama")])
def test_the_sizes_of_a_named_block_are_the_models(name: str):
    assert block_of(name) == work_of(name).layers[0]


@pytest.mark.parametrize("name", SIZES)
def test_decode_steps_add_up_to_the_prefill(name: str):
    made = counted()["blocks"][name]
    assert made["steps"] == made["prefill"]
    d = made["d_model"]
    if name.startswith("2017"):
        assert made["decode"] == [24 * d * d + 4 * d * t for t in counted()["tokens"]]


def test_measurements_are_told_with_when_and_how(tmp_path: Path):
    made = {
        "command": "kvscroll bench", "date": "2020-02-02", "model": "tiny", "device": "cpu",
        "processor": "x", "threads": 1,
        "rows": [{"path": "ours", "dtype": "float32", "decode_tokens_per_s": 7.5}],
    }  # fmt: skip
    (tmp_path / "speed.json").write_text(json.dumps(made))
    (tmp_path / "other.json").write_text(json.dumps({"rows": [{"anything": 1}]}))
    found = read_measurements(tmp_path)
    assert list(found) == ["speed: speed of writing"]
    (told,) = found.values()
    assert told["rows"] == [{"name": "ours, float32", "value": 7.5}]
    assert told["date"] == "2020-02-02"
    assert tell([]) == {}
    made["rows"][0]["decode_cpu_ms_per_token"] = 2.5
    assert [one["rows"][0]["value"] for one in tell(made).values()] == [2.5, 7.5]
    assert len(tell({**made, "device": "a card"})) == 1


def test_a_process_that_ends_while_it_measures_ends_well():
    code = "from app.machine import machine; print(machine('')['state'])"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "measuring", "")


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_words_that_can_never_be_chosen_are_those_the_stages_are_not_given(text: str):
    trace = trace_of(text)
    told = {name: int(live(trace)[name]["text"]) for name in ("vocabulary", "never-written")}
    kept = choose_again(trace, 0, Sampling(), 1)["kept"]
    assert told["vocabulary"] - told["never-written"] == kept[0] < told["vocabulary"]


def test_a_try_that_tells_of_a_preemption_shows_one():
    steps = [s for s in load_lessons()[-1].steps if s.figure == "schedule"]
    told = [t for step in steps for t in step.tries if "put back" in t.html]
    assert told
    for one in told:
        state = {**steps[0].figure_params, **one.figure_params}
        gone = timelines()[f"{state['workload']}/{state['policy']}"]["preempted"]
        assert [request["request"] for request in gone if request["request"] in one.html]
