"""The integers of a Llama-family model, read from a Hugging Face config or from GGUF metadata."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.errors import BadInput

FAMILY = ("llama", "mistral", "qwen2", "qwen3")
"""Pre-norm decoders with RMSNorm, rotary halves, grouped heads and SwiGLU, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """What decides every shape; `rope_divisors` (one per channel pair) slow the rotary rates."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_model: int
    d_ff: int
    vocab_size: int
    context: int
    rope_base: float = 10_000.0
    rope_divisors: tuple[float, ...] = ()
    norm_eps: float = 1e-5
    tied: bool = True
    qk_norm: bool = False
    eos: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in POSITIVE:
            if not getattr(self, name) >= 1:
                message = f"{name} must be at least 1, got {getattr(self, name)}"
                raise BadInput(message)
        if self.n_heads % self.n_kv_heads:
            message = (
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} key/value heads "
                f"evenly: use a divisor of {self.n_heads}"
            )
            raise BadInput(message)
        if self.d_head % 2:
            message = f"rotary positions turn pairs of channels: d_head is {self.d_head}, not even"
            raise BadInput(message)
        if len(self.rope_divisors) not in {0, self.d_head // 2}:
            message = (
                f"{len(self.rope_divisors)} rotary divisors for {self.d_head // 2} channel pairs"
            )
            raise BadInput(message)

    @property
    def numbers_per_token(self) -> int:
        """Numbers one token adds to the whole cache.

        >>> from model.engine.config import SMOLLM2
        >>> SMOLLM2.numbers_per_token
        11520
        """
        return 2 * self.n_layers * self.n_kv_heads * self.d_head

    @property
    def qkv_width(self) -> int:
        """Channels of the packed projection: queries, keys, values."""
        return (self.n_heads + 2 * self.n_kv_heads) * self.d_head


POSITIVE = (
    "n_layers", "n_heads", "n_kv_heads", "d_head", "d_model", "d_ff", "vocab_size", "context",
)  # fmt: skip

SMOLLM2 = EngineConfig(
    n_layers=30, n_heads=9, n_kv_heads=3, d_head=64, d_model=576, d_ff=1536, vocab_size=49_152,
    context=8192, rope_base=100_000.0, eos=(2,),
)  # fmt: skip
"""SmolLM2-135M (arXiv 2502.02737), as its config.json has it."""


def from_hf(config: Mapping[str, Any]) -> EngineConfig:
    """Read a `config.json`. Raises BadInput for other families and for what is not built here."""
    check_family(config.get("model_type"), "model_type")
    if (act := config.get("hidden_act", "silu")) != "silu":
        message = f"hidden_act is {act!r}: the engine knows 'silu' only"
        raise BadInput(message)
    try:
        return _from_hf(config)
    except KeyError as error:
        message = f"config.json has no {error}: the engine needs it"
        raise BadInput(message) from error
    except (TypeError, ValueError) as error:
        message = f"config.json cannot be read as a {config.get('model_type')} model: {error}"
        raise BadInput(message) from error


def _from_hf(config: Mapping[str, Any]) -> EngineConfig:
    n_heads, d_model = int(config["num_attention_heads"]), int(config["hidden_size"])
    d_head = int(config.get("head_dim") or d_model // n_heads)
    rope = {**config, **(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    return EngineConfig(
        n_layers=int(config["num_hidden_layers"]),
        n_heads=n_heads,
        n_kv_heads=int(config.get("num_key_value_heads") or n_heads),
        d_head=d_head,
        d_model=d_model,
        d_ff=int(config["intermediate_size"]),
        vocab_size=int(config["vocab_size"]),
        context=_context(config),
        rope_base=float(rope.get("rope_theta", 10_000.0)),
        rope_divisors=_divisors(rope, d_head),
        norm_eps=float(config.get("rms_norm_eps", 1e-6)),
        tied=bool(config.get("tie_word_embeddings", False)),
        qk_norm=config["model_type"] == "qwen3",
        eos=_ids(config.get("eos_token_id")),
    )


def from_gguf(metadata: Mapping[str, Any], rope_divisors: tuple[float, ...] = ()) -> EngineConfig:
    """Read GGUF key/values; `rope_divisors` come from its tensor `rope_freqs.weight`."""
    family = metadata.get("general.architecture")
    check_family(family, "general.architecture")
    try:
        return _from_gguf({k.removeprefix(f"{family}."): v for k, v in metadata.items()},
                          rope_divisors)  # fmt: skip
    except KeyError as error:
        message = f"the GGUF has no {family}.{error.args[0]}: the engine needs it"
        raise BadInput(message) from error
    except (TypeError, ValueError) as error:
        message = f"the GGUF's metadata cannot be read as a {family} model: {error}"
        raise BadInput(message) from error


def _from_gguf(get: Mapping[str, Any], rope_divisors: tuple[float, ...]) -> EngineConfig:
    if get.get("expert_count"):
        message = f"the model has {get['expert_count']} experts: the engine knows dense ones only"
        raise BadInput(message)
    if (scaling := get.get("rope.scaling.type", "none")) not in {"none", "llama3"}:
        message = f"rope scaling {scaling!r} is not built: 'none' and 'llama3' are"
        raise BadInput(message)
    n_heads, d_model = int(get["attention.head_count"]), int(get["embedding_length"])
    vocab_size = get.get("vocab_size") or len(get["tokenizer.ggml.tokens"])
    eos = get.get("tokenizer.ggml.eos_token_id")
    return EngineConfig(
        n_layers=int(get["block_count"]),
        n_heads=n_heads,
        n_kv_heads=int(get.get("attention.head_count_kv") or n_heads),
        d_head=int(get.get("attention.key_length") or d_model // n_heads),
        d_model=d_model,
        d_ff=int(get["feed_forward_length"]),
        vocab_size=int(vocab_size),
        context=int(get["context_length"]),
        rope_base=float(get.get("rope.freq_base", 10_000.0)),
        rope_divisors=rope_divisors,
        norm_eps=float(get["attention.layer_norm_rms_epsilon"]),
        qk_norm=get["general.architecture"] == "qwen3",
        eos=_ids(eos),
    )


def check_family(name: object, key: str) -> None:
    """Refuse models that are not built like Llama."""
    if name not in FAMILY:
        message = f"{key} is {name!r}: the engine runs the Llama family only ({', '.join(FAMILY)})"
        raise BadInput(message)


def _context(config: Mapping[str, Any]) -> int:
    """Return the longest text; of a windowed model the part in which it attends to everything."""
    trained = int(config.get("max_position_embeddings", 2048))
    windowed = config.get("use_sliding_window", config["model_type"] == "mistral")
    window = config.get("sliding_window") if windowed else None
    return trained if window is None else min(trained, int(window))


def _ids(value: int | list[int] | None) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (int(value),)


def _divisors(rope: Mapping[str, Any], d_head: int) -> tuple[float, ...]:
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return ()
    if kind == "linear":
        return (float(rope["factor"]),) * (d_head // 2)
    if kind == "llama3":
        return llama3_divisors(rope, d_head)
    message = f"rope scaling {kind!r} is not built: 'default', 'linear' and 'llama3' are"
    raise BadInput(message)


def llama3_divisors(rope: Mapping[str, Any], d_head: int) -> tuple[float, ...]:
    """Slow the channel pairs whose wave is longer than the trained context, blend at the border.

    Source: meta-llama/llama-models models/llama3/model.py (`apply_scaling`).
    """
    factor, trained = float(rope["factor"]), float(rope["original_max_position_embeddings"])
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    divisors = []
    for i in range(d_head // 2):
        turns = trained * float(rope["rope_theta"]) ** (-2 * i / d_head) / (2 * math.pi)
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        divisors.append(1 / ((1 - share) / factor + share))
    return tuple(divisors)
