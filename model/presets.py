"""Shapes of a few models people serve, for comparisons in the lessons. Each names its source."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The integers that decide a plain attention cache."""

    name: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    source: str


LLAMA_2_7B = Preset(
    name="Llama 2 7B",
    n_layers=32,
    n_heads=32,
    n_kv_heads=32,
    d_head=128,
    source="arXiv 2307.09288; meta-llama/Llama-2-7b-hf config.json",
)
LLAMA_3_8B = Preset(
    name="Llama 3 8B",
    n_layers=32,
    n_heads=32,
    n_kv_heads=8,
    d_head=128,
    source="arXiv 2407.21783; meta-llama/Meta-Llama-3-8B config.json",
)
LLAMA_3_70B = Preset(
    name="Llama 3 70B",
    n_layers=80,
    n_heads=64,
    n_kv_heads=8,
    d_head=128,
    source="arXiv 2407.21783; meta-llama/Meta-Llama-3-70B config.json",
)
GPT_2 = Preset(
    name="GPT-2 small",
    n_layers=12,
    n_heads=12,
    n_kv_heads=12,
    d_head=64,
    source="openai-community/gpt2 config.json",
)
SMOLLM2_135M = Preset(
    name="SmolLM2 135M",
    n_layers=30,
    n_heads=9,
    n_kv_heads=3,
    d_head=64,
    source="HuggingFaceTB/SmolLM2-135M config.json",
)
SERVED = (LLAMA_2_7B, LLAMA_3_70B, LLAMA_3_8B, GPT_2, SMOLLM2_135M)
