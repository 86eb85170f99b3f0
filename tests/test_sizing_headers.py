"""Headers of weight files are read without their weights; damaged ones are refused."""

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from model.errors import BadInput
from model.sizing.headers import gguf as ours
from model.sizing.headers.files import read_file
from model.sizing.question import Question
from model.sizing.size import size

LLAMA: dict[str, Any] = {
    "block_count": 2,
    "embedding_length": 32,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "context_length": 64,
}
SHAPES = {"attn_k": (16, 32), "attn_v": (16, 32), "attn_q": (32, 32)}


def write(
    path: Path,
    arch: str,
    settings: dict[str, Any],
    blocks: list[dict[str, tuple[int, ...]]],
    *,
    n_words: int = 9,
) -> Path:
    """A GGUF file with the given settings and one tensor for each shape."""
    writer = gguf.GGUFWriter(str(path), arch)
    for key, value in settings.items():
        if isinstance(value, list):
            writer.add_array(f"{arch}.{key}", value)
        else:
            writer.add_uint32(f"{arch}.{key}", value)
    writer.add_array("tokenizer.ggml.tokens", [f"word{i}" for i in range(n_words)])
    writer.add_string("general.name", "a small one")
    for i, block in enumerate(blocks):
        for name, shape in block.items():
            writer.add_tensor(f"blk.{i}.{name}.weight", np.zeros(shape, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def per_token(path: Path) -> int:
    return int(size(read_file(path), Question(tokens=1)).bytes_per_token_first)


def test_gguf_says_sizes_and_weights(tmp_path: Path):
    path = write(tmp_path / "m.gguf", "llama", LLAMA, [SHAPES, SHAPES], n_words=5_000)
    model = read_file(path)
    answer = size(model, Question(tokens=1))
    assert answer.bytes_per_token_first == 2 * 2 * 2 * 8 * 2
    assert model.parameters == 2 * (16 * 32 + 16 * 32 + 32 * 32)
    assert answer.weight_bytes == 2 * model.parameters
    assert model.name == "a small one"
    assert model.max_tokens == 64


def test_gguf_array_of_heads_is_read_layer_by_layer(tmp_path: Path):
    settings = LLAMA | {"attention.head_count_kv": [0, 2], "shortconv.l_cache": 3}
    blocks = [{"shortconv.conv": (3, 32)}, SHAPES]
    model = read_file(write(tmp_path / "m.gguf", "lfm2", settings, blocks))
    answer = size(model, Question(tokens=1))
    assert answer.bytes_per_token_first == 2 * 2 * 8 * 2
    assert answer.fixed_bytes == 32 * 3 * 2


def test_gguf_windows_by_list_and_by_period(tmp_path: Path):
    listed = LLAMA | {
        "attention.sliding_window": 8,
        "attention.sliding_window_pattern": [True, False],
    }
    path = write(tmp_path / "a.gguf", "gemma4", listed, [SHAPES, SHAPES])
    assert [layer.window for layer in read_file(path).layers] == [8, None]
    period = LLAMA | {"attention.sliding_window": 8, "block_count": 2}
    path = write(tmp_path / "b.gguf", "gpt-oss", period, [SHAPES, SHAPES])
    assert [layer.window for layer in read_file(path).layers] == [8, None]
    with pytest.raises(BadInput, match="sliding_window_pattern"):
        read_file(write(tmp_path / "c.gguf", "other", period, [SHAPES, SHAPES]))


def test_gguf_latents_states_and_prediction_layers(tmp_path: Path):
    mla = LLAMA | {"attention.kv_lora_rank": 16, "rope.dimension_count": 4, "block_count": 3,
                   "nextn_predict_layers": 1, "attention.head_count_kv": 1}  # fmt: skip
    blocks = [{"attn_kv_a_mqa": (20, 32)}] * 3
    assert per_token(write(tmp_path / "a.gguf", "deepseek2", mla, blocks)) == 2 * 20 * 2
    hybrid = LLAMA | {
        "attention.head_count_kv": [0, 2],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 64,
        "ssm.state_size": 8,
        "ssm.group_count": 2,
    }
    states = [{"ssm_in": (8, 32)}, SHAPES]
    path = write(tmp_path / "b.gguf", "granitehybrid", hybrid, states)
    answer = size(read_file(path), Question(tokens=1))
    assert answer.fixed_bytes == (64 + 2 * 2 * 8) * 4 * 2 + 64 * 8 * 4


def test_block_sizes_are_ggmls_own():
    sizes = {int(kind): tuple(found) for kind, found in gguf.GGML_QUANT_SIZES.items()}
    shared = set(sizes) & set(ours.TYPES)
    assert len(shared) > 25
    assert {k: ours.TYPES[k] for k in shared} == {k: sizes[k] for k in shared}


def test_gguf_cut_anywhere_is_refused(tmp_path: Path):
    whole = write(tmp_path / "m.gguf", "llama", LLAMA, [SHAPES]).read_bytes()
    header = whole[: whole.rindex(b"blk.0.attn_q.weight")]
    path = tmp_path / "cut.gguf"
    for end in [*range(4, 200, 7), len(header) // 2, len(header)]:
        path.write_bytes(header[:end])
        with pytest.raises(BadInput):
            read_file(path)


def test_gguf_with_any_byte_damaged_is_read_or_refused(tmp_path: Path):
    whole = bytearray(write(tmp_path / "m.gguf", "llama", LLAMA, [SHAPES]).read_bytes())
    path = tmp_path / "bad.gguf"
    for place in range(4, 600, 11):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert read_file(path).layers
        except BadInput as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017 - either outcome is right


def safetensors(path: Path, entries: dict[str, tuple[str, list[int]]]) -> Path:
    header = json.dumps(
        {n: {"dtype": d, "shape": s, "data_offsets": [0, 0]} for n, (d, s) in entries.items()}
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "hidden_size": 8,
}


def test_safetensors_counts_weights_beside_a_config(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for i, shape in enumerate(([3, 4], [5]), start=1):
        name = f"model-{i:05d}-of-00002.safetensors"
        safetensors(tmp_path / name, {f"t{i}": ("BF16", shape)})
    model = read_file(tmp_path / "model-00001-of-00002.safetensors")
    answer = size(model, Question(tokens=1))
    assert (model.parameters, answer.weight_bytes) == (17, 34)
    assert answer.bytes_per_token_first == 2 * 4 * 2


def test_safetensors_alone_asks_for_its_config(tmp_path: Path):
    path = safetensors(tmp_path / "model.safetensors", {"t": ("F32", [2])})
    with pytest.raises(BadInput, match=r"config\.json beside it"):
        read_file(path)


def test_safetensors_with_a_part_missing_is_refused(tmp_path: Path):
    path = safetensors(tmp_path / "model-00001-of-00002.safetensors", {"t": ("F32", [2])})
    with pytest.raises(BadInput, match="1 of 2 parts are missing"):
        read_file(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 8,
        struct.pack("<Q", 10**12) + b"{",
        struct.pack("<Q", 50) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 20) + b'{"t": {"shape": 5}} ',
        b"GGUF",
        b"GGUF" + b"\xff" * 40,
        b"\x7fELF" + b"\x00" * 60,
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, content: bytes):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(BadInput) as refusal:
        read_file(path)
    assert "\n" not in str(refusal.value)


def test_a_directory_is_read_by_its_config(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert read_file(tmp_path).name == tmp_path.name
