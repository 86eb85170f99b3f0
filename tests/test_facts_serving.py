"""The numbers lesson 4 quotes are computed when asked for, and are the known ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from model.errors import BadInput
from model.facts import fact
from model.facts.serving import FACTS, step_that_fits
from model.sizing.catalogue import find, model_of

LESSON = Path(__file__).parents[1] / "content" / "40-going-deeper.md"

KNOWN = {
    "ridge-h100": "295",
    # 15.01 GB, for the input table is looked up, not read; and 0.27 GB of cache
    "llama-3-8b-step-one-at-2048": "4.56 ms",
    "llama-3-8b-tokens-limit-at-8192": "3,120 tokens/s",
    "llama-3-8b-fits-at-8192": "59",
    "block-prefill-square": "893,353,197,568",
    "block-prefill-causal": "859,010,236,416",
    "block-decode": "436,207,616",
    "batching-static-eight": "14",
    "batching-continuous-eight": "11",
    "batching-static-uneven": "64",
    "batching-continuous-uneven": "22",
    "paging-used-example": "67.5%",
    "load-70b-pcie4": "0.34 s",
    "chunked-rows-read": "69,632",
    "speculation-tokens-80-4": "3.36",
}


BY_HAND = {
    # (15.01 + 16 or 32 of 1.074 GB) / 3,350 GB/s
    "batch-doubled-at-8192": "1.30 times",
    "llama-3-8b-tokens-128-at-2048": "8,686 tokens/s",
    # 4 * 134,515,008 weights; a token is 4 * 30 * 2 * 3 * 64 = 46,080 bytes
    "smollm2-rows-beside-weights": "69%",
    "smollm2-rows-equal-weights": "11,700",
    "llama-2-7b-cache-2048": "1 GiB",
}


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_says_something(name: str):
    assert FACTS[name]().text.strip()


@pytest.mark.parametrize("name", KNOWN)
def test_known_numbers_come_out(name: str):
    assert FACTS[name]().text == KNOWN[name]


def test_listing_the_facts_does_not_load_torch():
    code = "import sys, model.facts.serving; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", BY_HAND)
def test_numbers_of_other_tables_are_those_counted_by_hand(name: str):
    assert fact(name).text == BY_HAND[name]


@pytest.mark.parametrize(("most", "context"), [(59, 8_192), (238, 2_048)])
def test_no_number_is_quoted_of_a_batch_that_memory_has_no_room_for(most: int, context: int):
    """80 GB, of which 16.06 are weights; a token of Llama 3 8B keeps 131,072 bytes."""
    assert step_that_fits(most, context).flops > 0
    with pytest.raises(BadInput, match=f"{most + 1} .* for {most}"):
        step_that_fits(most + 1, context)


def test_every_batch_the_lesson_names_fits():
    text = LESSON.read_text(encoding="utf-8")
    step = text.partition("::: step batching ")[2].partition("::: step ")[0]
    named = re.findall(r"(\d+) sequences of ([\d,]+) tokens", step)
    named += [(n, tokens) for tokens, n in re.findall(r"([\d,]+) tokens each, (\d+) seq", step)]
    named += [(n, "8,192") for n in re.findall(r"become (\d+)", step)]
    assert len(named) >= 3
    for n, tokens in named:
        assert step_that_fits(int(n), int(tokens.replace(",", "")))


def test_no_model_of_the_lesson_is_given_more_tokens_than_it_was_made_for():
    text = LESSON.read_text(encoding="utf-8")
    named = re.findall(r"([\d,]+) tokens of ([A-Z]\w+ [\d.]+ \d+B)", text)
    assert len(named) >= 3
    for tokens, name in named:
        most = model_of(find(name).name).max_tokens
        assert most
        assert int(tokens.replace(",", "")) <= most, name
