"""A smaller cache is measured as decoding would feel it; its bytes are what the formula says."""

import json
from typing import Any

import pytest
import torch

from app.cli.bench import judged
from app.paths import CONTENT
from model.engine.build import random_checkpoint
from model.engine.claims import claims, pooled_ratio
from model.engine.config import EngineConfig
from model.engine.generate import Options, generate
from model.engine.keeping import Keeping
from model.engine.perplexity import Case, Quality, hidden_rows, measure
from model.engine.session import Forgetful, Remembering
from model.errors import BadInput
from model.sizing.question import Question
from model.sizing.read_config import read_config
from model.sizing.size import total_bytes
from tests.oracles.engine import CPU, in_engine

CONFIG = EngineConfig(
    n_layers=3, n_heads=4, n_kv_heads=2, d_head=32, d_model=32, d_ff=48, vocab_size=97, context=256
)
MODEL = in_engine(random_checkpoint(CONFIG, 11, device=CPU, dtype=torch.float64))
TEXT = torch.randint(0, 97, (1, 70), generator=torch.Generator().manual_seed(2))
CASES = {
    "window": Case(slots=16),
    "one-sink": Case(slots=16, sinks=1),
    "four-sinks": Case(slots=16, sinks=4),
    "int8": Case(k_format="int8", v_format="int8"),
    "v-only": Case(v_format="fp4"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_one_pass_over_a_text_equals_feeding_it_token_by_token(case: Case):
    session = Remembering(MODEL, TEXT.shape[1], keeping=case.keeping)
    fed = torch.cat([session.feed(token)[0] for token in TEXT.split(1, dim=1)])
    assert (hidden_rows(MODEL, TEXT, case) - fed).abs().max() <= 1e-11


def found(*cases: Case) -> list[Quality]:
    return list(measure(MODEL, TEXT[0].tolist(), cases))


def test_keeping_everything_loses_nothing():
    whole = found(Case())[0]
    assert whole.kl == pytest.approx(0, abs=1e-12)
    assert (whole.same_top, whole.perplexity) == (1.0, pytest.approx(whole.full_perplexity))


def test_perplexity_is_that_of_the_words_that_follow():
    logits = MODEL.logits(Forgetful(MODEL).feed(TEXT))[0, :-1]
    expected = torch.nn.functional.cross_entropy(logits, TEXT[0, 1:]).exp()
    assert found(Case())[0].perplexity == pytest.approx(float(expected))


def test_finer_formats_stay_nearer_to_the_full_cache():
    names = ("int8", "fp8-e4m3-scaled", "fp4")
    results = found(*(Case(k_format=name, v_format=name) for name in names))
    divergences = [result.kl for result in results]
    assert divergences == sorted(divergences)


def test_only_tokens_after_the_first_eviction_are_scored():
    assert [r.n_scored for r in found(Case(), Case(slots=16), Case(slots=16, sinks=4))] == [
        69,
        53,
        53,
    ]


def test_a_text_that_never_leaves_the_cache_is_refused():
    with pytest.raises(BadInput, match="70 tokens never leaves a cache of 128"):
        found(Case(slots=128))


HF: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": CONFIG.n_layers,
    "num_attention_heads": CONFIG.n_heads,
    "num_key_value_heads": CONFIG.n_kv_heads,
    "head_dim": CONFIG.d_head,
    "hidden_size": CONFIG.d_model,
    "intermediate_size": CONFIG.d_ff,
    "vocab_size": CONFIG.vocab_size,
    "torch_dtype": "float32",
}


@pytest.mark.parametrize(
    ("dtype", "k_format", "named"),
    [
        (torch.float32, "as-computed", "fp32"),
        (torch.bfloat16, "as-computed", "bf16"),
        (torch.float32, "fp8-e4m3", "fp8"),
    ],
    ids=str,
)
def test_a_measured_cache_takes_the_bytes_the_calculator_says(
    dtype: torch.dtype, k_format: str, named: str
):
    model = in_engine(random_checkpoint(CONFIG, 1, device=CPU, dtype=dtype), dtype)
    keeping = Keeping(k_format=k_format, v_format=k_format)
    session = Remembering(model, 40, keeping=keeping)
    list(generate(session, [1, 2, 3], Options(max_tokens=37)))
    question = Question(tokens=session.length, k_format=named, v_format=named)
    assert session.nbytes_held == total_bytes(read_config(HF, name="tiny"), question)


V_ONLY = ("as-computed", "fp4")
SHIPPED = json.loads((CONTENT / "measurements" / "smollm2-quality.json").read_text("utf-8"))


TEXTS = sorted((CONTENT / "texts").glob("*/*.txt"))


@pytest.mark.parametrize("text", [path.stem for path in TEXTS])
def test_the_shipped_measurement_covers_every_text_and_says_what_the_lessons_say(text: str):
    rows = [row for row in SHIPPED["rows"] if row["text"] == text]
    windows = {(row["slots"], row["sinks"]): row["perplexity"] for row in rows if row["slots"]}
    ratios = {
        row["k_format"]: row["ratio"] for row in rows if row["k_format"] == row["v_format"]
    } | {"value-fp4": next(r["ratio"] for r in rows if (r["k_format"], r["v_format"]) == V_ONLY)}
    assert windows[64, 0] > 2 * windows[64, 1]
    assert windows[64, 0] > windows[128, 0] > windows[256, 0]
    assert abs(ratios["int8"] - 1) < 0.005
    assert 1 < ratios["value-fp4"] < ratios["fp4"] < ratios["mxfp4"]


def test_losing_the_first_token_triples_the_perplexity_of_programs_and_doubles_that_of_prose():
    found = claims(SHIPPED["rows"])
    assert found == SHIPPED["claims"]
    assert all(one["holds"] for one in found), found
    programs, prose = found[:2]
    assert min(programs["by_text"].values()) > 3 > max(prose["by_text"].values())
    assert min(prose["by_text"].values()) > 2
    assert {*programs["by_text"], *prose["by_text"]} == {path.stem for path in TEXTS}


def test_the_first_token_of_every_shipped_text_draws_a_hundred_even_shares():
    told = {one["text"]: one for one in SHIPPED["first_token"]}
    assert told.keys() == {path.stem for path in TEXTS}
    for one in told.values():
        assert one["share"] == pytest.approx(sum(one["share_by_layer"]) / 30)
        assert one["share"] > 100 * one["even_share"]


def row(text: str, sinks: int, perplexity: float, n_scored: int) -> dict[str, Any]:
    return {"text": text, "slots": 64, "sinks": sinks, "perplexity": perplexity,
            "n_scored": n_scored, "k_format": "as-computed", "v_format": "as-computed"}  # fmt: skip


def test_a_pooled_ratio_counts_every_scored_token_once():
    rows = [row("a", 0, 8.0, 30), row("a", 1, 2.0, 30), row("b", 0, 6.0, 10), row("b", 1, 6.0, 10)]
    assert pooled_ratio(rows) == pytest.approx(4 ** (30 / 40))


def test_a_claim_that_does_not_hold_says_so():
    rows = [dict(one) for one in SHIPPED["rows"]]
    for one in rows:
        if one["slots"] == 64 and one["sinks"] == 0:
            one["perplexity"] /= 2
        if one["k_format"] == one["v_format"] == "int8":
            one["ratio"], one["kl"] = 1.006, 1.0
    assert [one["holds"] for one in claims(rows)] == [False, False, False, False]


def test_the_command_names_each_claim_and_whether_it_holds():
    text = judged(SHIPPED["claims"])
    assert text.count("holds: ") == 4
    assert all(f"    {name}: " in text for name in {row["text"] for row in SHIPPED["rows"]})
