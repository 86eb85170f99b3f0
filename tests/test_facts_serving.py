"""The numbers lesson 4 quotes are computed when asked for, and are the known ones."""

import subprocess
import sys

import pytest

from model.facts.serving import FACTS

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


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_says_something(name: str):
    assert FACTS[name]().text.strip()


@pytest.mark.parametrize("name", KNOWN)
def test_known_numbers_come_out(name: str):
    assert FACTS[name]().text == KNOWN[name]


def test_listing_the_facts_does_not_load_torch():
    code = "import sys, model.facts.serving; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
