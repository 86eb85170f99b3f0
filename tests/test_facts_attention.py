"""The numbers lessons 2 and 3 print are the published ones, each with its arithmetic."""

import subprocess
import sys

import pytest

from model.facts import attention, windows

FACTS = attention.FACTS | windows.FACTS

PUBLISHED = {
    "mla-numbers-per-layer": "576",
    "mla-smaller-than-mha": "56.9",
    "mla-smaller-than-expanded": "71.1",
    "mla-smaller-than-gqa-8": "3.56",
    "v4-flash-bytes-per-token": "890",
    "v4-flash-main-bytes": "720",
    "v4-flash-index-bytes": "170",
    "v4-flash-unshared-bytes": "40,960",
    "v4-flash-window-bytes": "2.58 MiB",
    "v4-flash-window-layers": "2",
    "v4-flash-full-layers": "4",
    "v4-flash-reindex-layers": "4",
    "v4-flash-reuse-layers": "30",
    "fp4-bits-per-value": "4.5",
    "mxfp4-bits-per-value": "4.25",
    "int8-bits-per-value": "8.25",
    "kivi-2-smaller-at-1024": "4.2",
    "kivi-2-smaller-at-4096": "5.0",
    "cla-mqa-bytes": "10,240",
    "cla-2-mqa-bytes": "5,120",
    "cla-3-mqa-bytes": "3,584",
    "yoco-share-at-131072": "5.4%",
    "mistral-receptive-field": "131,041",
    "gemma-2-9b-share-at-8192": "75%",
    "gemma-3-27b-share-at-32768": "18.75%",
    "gemma-3-27b-share-at-131072": "16.8%",
    "gpt-oss-120b-share-at-131072": "50.05%",
    "gpt-oss-120b-cache-at-131072": "4,612.5 MiB",
    "gpt-oss-120b-cache-at-4096": "148.5 MiB",
    "sparse-fixed-pairs-1024": "32,768",
    "sparse-strided-pairs-1024": "48,144",
    "causal-pairs-1024": "524,800",
}


def test_every_fact_is_held_to_a_hand_constant():
    assert set(FACTS) == set(PUBLISHED)


@pytest.mark.parametrize("name", FACTS)
def test_the_computed_text_is_the_published_number(name: str):
    fact = FACTS[name]()
    assert fact.text == PUBLISHED[name]
    assert fact.how


def test_listing_the_facts_does_not_load_torch():
    code = "import sys, model.facts.attention; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
