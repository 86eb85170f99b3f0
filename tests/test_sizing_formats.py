"""A format's bytes are those of its layout, scales and residuals included."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadInput
from model.sizing import catalogue
from model.sizing.formats import ALIASES, FORMATS, bits_per_number, format_named
from model.sizing.layers import Rows
from model.sizing.question import Question
from model.sizing.size import size
from model.sizing.units import both, parse_bytes, parse_count

BITS = {
    "fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8.25, "fp8_per_token_head": 8.25,
    "fp8_block128": 8.25,
    "q8_0": 8.5, "q5_1": 6, "q5_0": 5.5, "q4_1": 5, "q4_0": 4.5, "iq4_nl": 4.5, "nvfp4": 4.5,
    "mxfp4": 4.25, "mxfp8": 8.25, "kivi2": 3, "kivi4": 5, "quanto2": 2.5, "quanto4": 4.5,
}  # fmt: skip
KEY = Rows(name="key", role="key", heads=32, width=128)
VALUE = Rows(name="value", role="value", heads=32, width=128)


@pytest.mark.parametrize("name", BITS)
def test_bits_a_number_are_the_layouts(name: str):
    assert bits_per_number(FORMATS[name]) == Fraction(BITS[name])


@pytest.mark.parametrize("name", FORMATS)
@given(n_rows=st.integers(0, 5_000))
def test_more_rows_never_take_less_but_for_a_residual(name: str, n_rows: int):
    fmt = FORMATS[name]
    rows = Rows(name="latent", role="key", width=512)
    one, more = fmt.n_bytes(rows, n_rows), fmt.n_bytes(rows, n_rows + 128)
    assert one >= 0
    assert more > one


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_names_a_format(alias: str):
    assert format_named(alias.upper().replace("_", "-")).name in FORMATS


def test_kivi_on_llama_2_7b_takes_what_the_paper_measures():
    fmt, mib = FORMATS["kivi2"], 2**20
    for tokens, expected in ((1_024, 122), (4_096, 410)):
        held = 32 * (fmt.n_bytes(KEY, tokens) + fmt.n_bytes(VALUE, tokens))
        assert held == expected * mib
    four = FORMATS["kivi4"]
    plain = 32 * 2 * 2 * 4_096 * 4_096
    held = 32 * (four.n_bytes(KEY, 4_096) + four.n_bytes(VALUE, 4_096))
    assert round(plain / held, 2) == 3.09


def test_kivi_keeps_its_newest_rows_whole():
    fmt = FORMATS["kivi2"]
    for n_rows in (1, 127, 128, 129, 300):
        recent = n_rows % 128
        assert fmt.n_bytes(KEY, n_rows) == 4096 * (recent * 2 + (n_rows - recent) * 3 / 8)
        recent = min(n_rows, 128)
        assert fmt.n_bytes(VALUE, n_rows) == 4096 * (recent * 2 + (n_rows - recent) * 3 / 8)


def test_keys_and_values_may_differ():
    model = catalogue.load("llama-2-7b")
    mixed = Question(tokens=64, k_format="q8_0", v_format="q4_0")
    assert size(model, mixed).cache_bytes == 64 * 32 * 4096 * (34 + 18) // 32


def test_a_block_must_divide_a_width():
    with pytest.raises(BadInput, match=r"32 numbers a block.*width 80 leaves 16"):
        FORMATS["q4_0"].n_bytes(Rows(name="key", role="key", width=80), 1)


def test_latents_have_a_layout_of_their_own():
    model = catalogue.load("deepseek-v3.2")
    question = Question(tokens=1, k_format="fp8_ds_mla", index_format="fp8_ds_mla")
    assert size(model, question).bytes_per_token_first == 61 * (656 + 132) == 48_068
    with pytest.raises(BadInput, match="latent of MLA"):
        size(catalogue.load("llama-2-7b"), Question(tokens=1, k_format="fp8_ds_mla"))


def test_v4_flash_in_its_served_layout():
    question = Question(tokens=1, k_format="fp8_ds_v4", index_format="mxfp4")
    answer = size(catalogue.load("deepseek-v4-flash"), question)
    assert answer.bytes_per_token_marginal == Fraction(21 * (584 + 68), 4) + Fraction(20 * 584, 128)
    assert float(answer.bytes_per_token_marginal) == 3_514.25


def test_states_take_32_bits_unless_asked_otherwise():
    model = catalogue.load("qwen3-next")
    whole = size(model, Question(tokens=0)).fixed_bytes
    assert whole == 36 * (8_192 * 4 * 2 + 32 * 128 * 128 * 4)


def test_an_unknown_format_lists_the_known():
    with pytest.raises(BadInput, match="q4_0"):
        format_named("int3")


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("24GiB", 24 * 2**30),
        ("24 GB", 24 * 10**9),
        ("0.5gib", 2**29),
        ("80gb", 80 * 10**9),
        ("123", 123),
        ("1.5 TiB", 3 * 2**39),
    ],
)
def test_memory_is_read_in_both_units(text: str, n_bytes: int):
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["24G", "lots", "", "-1GB", "0GiB", "9" * 40 + "GB", "1e9GB"])
def test_memory_that_is_unclear_is_refused(text: str):
    with pytest.raises(BadInput):
        parse_bytes(text)


def test_128k_is_refused_with_both_meanings():
    with pytest.raises(BadInput, match=r"128,000 or 131,072"):
        parse_count("128k", "--tokens", most=10**9)


def test_gigabytes_of_both_kinds_are_shown():
    assert both(10 * 2**30) == "10 GiB (10.737 GB)"
