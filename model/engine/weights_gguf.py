"""Weights from a GGUF file (llama.cpp's format), dequantised, under their Hugging Face names."""

# ruff: noqa: PLC0415 - readers are an extra, imported where they are used

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig
from model.engine.config import from_gguf as config_from_gguf
from model.engine.tokenizer import TextTokenizer
from model.engine.tokenizer import from_gguf as tokenizer_from_gguf
from model.errors import BadInput

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor

TOP = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
BROKEN = (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError, struct.error)
"""What a reader of a truncated or foreign file trips over."""


def read_gguf(path: Path) -> Checkpoint:
    """Open a GGUF of the family. Raises BadInput if it is corrupt, foreign or truncated."""
    reader = open_gguf(path)
    metadata = read_metadata(reader, path)
    named = {hf_name(tensor.name): tensor for tensor in reader.tensors}
    slowing = named.pop("rope_freqs.weight", None)
    divisors = () if slowing is None else tuple(dequantise(slowing, path).tolist())
    config = config_from_gguf(metadata, divisors)
    tied = "lm_head.weight" not in named
    return Checkpoint(
        name=path.name,
        config=EngineConfig(**{**vars(config), "tied": tied}),
        names=frozenset(named),
        read=lambda name: in_halves(dequantise(named[name], path), name, config, metadata),
        tokenizer=read_tokenizer(metadata, path),
    )


def open_gguf(path: Path) -> "GGUFReader":
    """Map the file and read its tables; the tensors stay on disk."""
    import gguf

    try:
        return gguf.GGUFReader(path)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise BadInput(message) from error
    except BROKEN as error:
        message = f"{path} is no whole GGUF file (corrupt or truncated): {error}"
        raise BadInput(message) from error


def read_metadata(reader: "GGUFReader", path: Path) -> dict[str, Any]:
    """Return every key and value of the file."""
    try:
        return {name: field.contents() for name, field in reader.fields.items()}
    except BROKEN as error:
        message = f"{path}: its metadata is corrupt: {error}"
        raise BadInput(message) from error


def read_tokenizer(metadata: Mapping[str, Any], path: Path) -> TextTokenizer:
    """Rebuild the tokenizer the file describes."""
    try:
        return tokenizer_from_gguf(metadata)
    except BadInput:
        raise
    except Exception as error:
        message = f"{path}: its tokenizer cannot be rebuilt: {error}"
        raise BadInput(message) from error


def hf_name(name: str) -> str:
    """Translate a tensor's name.

    >>> hf_name("blk.3.attn_q.weight")
    'model.layers.3.self_attn.q_proj.weight'
    """
    *stem, kind = name.split(".")
    match stem:
        case ["blk", layer, part] if part in IN_LAYER:
            return f"model.layers.{layer}.{IN_LAYER[part]}.{kind}"
        case [part] if part in TOP:
            return f"{TOP[part]}.{kind}"
        case _:
            return name


def dequantise(tensor: "ReaderTensor", path: Path) -> Float[Tensor, "..."]:
    """Turn a tensor of any GGML type into float32."""
    import gguf

    try:
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    except (NotImplementedError, *BROKEN) as error:
        message = f"{path}: {tensor.name} ({tensor.tensor_type.name}) cannot be decoded: {error}"
        raise BadInput(message) from error
    return torch.tensor(numbers, dtype=torch.float32)


def in_halves(
    x: Float[Tensor, "..."], name: str, config: EngineConfig, metadata: Mapping[str, Any]
) -> Float[Tensor, "..."]:
    """Undo llama.cpp's channel order for `llama` files: rotary pairs lie side by side there.

    Source: ggml-org/llama.cpp convert_hf_to_gguf.py (`LlamaModel.permute`).
    """
    n_heads = {"q_proj": config.n_heads, "k_proj": config.n_kv_heads}.get(name.split(".")[-2])
    if n_heads is None or metadata["general.architecture"] != "llama":
        return x
    side_by_side = x.reshape(n_heads, config.d_head // 2, 2, *x.shape[1:])
    return side_by_side.transpose(1, 2).reshape(x.shape)
