"""Tiny members of the family as transformers builds them, and the same weights in the engine."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)

from model.engine.build import Builder
from model.engine.checkpoint import Checkpoint
from model.engine.layers import LAYOUTS, Linear, OutIn
from model.engine.model import LanguageModel
from model.engine.weights_safetensors import read_folder

CPU = torch.device("cpu")
SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def default_rope(theta: float) -> dict[str, object]:
    return {"rope_type": "default", "rope_theta": theta}


MEMBERS: dict[str, Callable[[], object]] = {
    "mha": lambda: LlamaConfig(**SIZES, num_key_value_heads=4, tie_word_embeddings=True),
    "gqa-untied": lambda: LlamaConfig(**SIZES, num_key_value_heads=2, tie_word_embeddings=False),
    "mqa-theta": lambda: LlamaConfig(
        **SIZES, num_key_value_heads=1, rope_parameters=default_rope(500_000.0)
    ),
    "wide-heads": lambda: LlamaConfig(**SIZES, num_key_value_heads=2, head_dim=16),
    "biases": lambda: LlamaConfig(
        **SIZES, num_key_value_heads=2, attention_bias=True, mlp_bias=True
    ),
    "llama3-rope": lambda: LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=LLAMA3),
    "mistral": lambda: MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=None),
    "qwen2": lambda: Qwen2Config(**SIZES, num_key_value_heads=2),
    "qwen3": lambda: Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=12),
}  # fmt: skip


def oracle(member: str, seed: int = 0) -> Any:
    """Build a random model in float64 as transformers does, biases and norms random too."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(MEMBERS[member](), dtype=torch.float64).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # transformers starts them at 0 or 1, which hides mistakes
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def in_float64(model: Any) -> None:
    """Lift the two places where transformers falls back to float32: norms and angles."""
    exact_angles(model)
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = partial(exact_norm, module)


def exact_norm(norm: Any, x: Tensor) -> Tensor:
    return norm.weight * x * (x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon).rsqrt()


def exact_angles(model: Any) -> None:
    rotary = model.model.rotary_emb
    c = model.config
    d_head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    base = c.rope_parameters["rope_theta"]
    exact = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    rates = llama3_rates(exact) if c.rope_parameters["rope_type"] == "llama3" else exact

    def forward(x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        angles = position_ids[..., None].double() * rates
        both = torch.cat([angles, angles], dim=-1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)

    rotary.forward = forward


def llama3_rates(rates: Tensor) -> Tensor:
    """Follow transformers' modeling_rope_utils (`_compute_llama3_parameters`), in float64."""
    factor, low, high, trained = (
        LLAMA3[name]
        for name in (
            "factor",
            "low_freq_factor",
            "high_freq_factor",
            "original_max_position_embeddings",
        )
    )
    wavelength = 2 * torch.pi / rates
    smooth = (trained / wavelength - low) / (high - low)
    blended = (1 - smooth) * rates / factor + smooth * rates
    slowed = torch.where(wavelength > trained / low, rates / factor, rates)
    middle = (wavelength <= trained / low) & (wavelength >= trained / high)
    return torch.where(middle, blended, slowed)


def saved(model: Any, folder: Path) -> Checkpoint:
    """Write a model as a Hugging Face folder and open it with the engine's reader."""
    model.save_pretrained(folder)
    return read_folder(folder)


def in_engine(
    checkpoint: Checkpoint, dtype: torch.dtype = torch.float64, layout: type[Linear] = OutIn
) -> LanguageModel:
    return Builder(checkpoint, dtype, CPU, layout).model()


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


LAYOUTS_OF_FLOAT32 = {name: layout for name, layout in LAYOUTS.items() if name != "widened"}
