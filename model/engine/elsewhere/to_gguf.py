"""Our weights as a GGUF file in one type, with no vocabulary: tokens go in and out as numbers."""

from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from model.engine.build import tensor_shapes
from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig
from model.engine.weights_gguf import IN_LAYER, TOP
from model.errors import BadInput

if TYPE_CHECKING:
    from gguf import GGUFWriter

TYPES = ("float32", "float16", "bfloat16")


def write(checkpoint: Checkpoint, dtype: str, path: Path) -> None:
    """Write a plain Llama; norms stay in float32, as llama.cpp wants them. Raises BadInput."""
    import gguf  # noqa: PLC0415 - an extra

    c = checkpoint.config
    if (
        dtype not in TYPES
        or c.qk_norm
        or c.rope_divisors
        or checkpoint.names != {*tensor_shapes(c)}
    ):
        message = f"{checkpoint.name} in {dtype} is no plain Llama that llama.cpp can be given"
        raise BadInput(message)
    kinds = gguf.GGMLQuantizationType
    kind = {"float32": kinds.F32, "float16": kinds.F16, "bfloat16": kinds.BF16}[dtype]
    writer = gguf.GGUFWriter(path, "llama")
    describe(writer, c)
    for name in sorted(checkpoint.names):
        tensor = side_by_side(checkpoint.read(name).float().cpu(), name, c)
        wanted = kind if tensor.ndim > 1 else kinds.F32
        rows = gguf.quants.quantize(tensor.numpy(), wanted)
        writer.add_tensor(gguf_name(name), rows, raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(writer: "GGUFWriter", c: EngineConfig) -> None:
    """Write the sizes under llama.cpp's keys."""
    writer.add_context_length(c.context)
    writer.add_block_count(c.n_layers)
    writer.add_embedding_length(c.d_model)
    writer.add_feed_forward_length(c.d_ff)
    writer.add_head_count(c.n_heads)
    writer.add_head_count_kv(c.n_kv_heads)
    writer.add_key_length(c.d_head)
    writer.add_value_length(c.d_head)
    writer.add_rope_dimension_count(c.d_head)
    writer.add_rope_freq_base(c.rope_base)
    writer.add_layer_norm_rms_eps(c.norm_eps)
    writer.add_vocab_size(c.vocab_size)
    writer.add_tokenizer_model("none")


def gguf_name(name: str) -> str:
    """Translate a tensor's name.

    >>> gguf_name("model.layers.3.self_attn.q_proj.weight")
    'blk.3.attn_q.weight'
    """
    stem, kind = name.rsplit(".", 1)
    for short, long in TOP.items():
        if stem == long:
            return f"{short}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    short = next(short for short, long in IN_LAYER.items() if long == part)
    return f"blk.{layer}.{short}.{kind}"


def side_by_side(x: Tensor, name: str, c: EngineConfig) -> Tensor:
    """Lay rotary pairs side by side, as `llama` files have them (undone by `in_halves`)."""
    n_heads = {"q_proj": c.n_heads, "k_proj": c.n_kv_heads}.get(name.split(".")[-2])
    if n_heads is None:
        return x
    halves = x.reshape(n_heads, 2, c.d_head // 2, *x.shape[1:])
    return halves.transpose(1, 2).reshape(x.shape).contiguous()
