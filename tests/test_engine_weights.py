"""Weights come from GGUF and Hugging Face folders; broken or foreign ones are told in one line."""

import contextlib
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from model.engine import sources
from model.engine.build import Builder
from model.engine.checkpoint import Checkpoint
from model.engine.config import SMOLLM2, from_hf
from model.engine.layers import OutIn
from model.engine.session import Forgetful
from model.engine.sources import (
    Loaded,
    Shelf,
    load_in_background,
    load_once,
    open_checkpoint,
    smollm2_path,
)
from model.engine.tokenizer import from_gguf
from model.engine.weights_gguf import hf_name, read_gguf
from model.engine.weights_safetensors import read_folder
from model.errors import BadInput
from tests.oracles.engine import CPU, edit_config, in_engine, oracle, saved

TOKENS = torch.tensor([[5, 60, 7, 33, 12]])
PIECES = [*pre_tokenizers.ByteLevel.alphabet(), "Ġt", "he", "Ġthe", "<|end|>"]
MERGES = ["Ġ t", "h e", "Ġt he"]
VOCABULARY = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": PIECES,
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.token_type": [1] * (len(PIECES) - 1) + [3],
}
LLAMACPP = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def as_pairs(w: np.ndarray, n_heads: int) -> np.ndarray:
    """Order the rows of queries and keys as llama.cpp's converter does."""
    d_head = w.shape[0] // n_heads
    rows = [h * d_head + i + half for h in range(n_heads) for i in range(d_head // 2)
            for half in (0, d_head // 2)]  # fmt: skip
    return w[rows]


def write_gguf(path: Path, source: Checkpoint, **changes: Any) -> None:
    """Write a Llama checkpoint in float32 with gguf's own writer."""
    c = source.config
    writer = gguf.GGUFWriter(path, changes.get("architecture", "llama"))
    writer.add_block_count(c.n_layers)
    writer.add_context_length(c.context)
    writer.add_embedding_length(c.d_model)
    writer.add_feed_forward_length(c.d_ff)
    writer.add_head_count(c.n_heads)
    writer.add_head_count_kv(c.n_kv_heads)
    writer.add_rope_freq_base(c.rope_base)
    writer.add_layer_norm_rms_eps(c.norm_eps)
    writer.add_vocab_size(c.vocab_size)
    writer.add_tokenizer_model(changes.get("tokenizer", "gpt2"))
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(PIECES)
    writer.add_token_merges(MERGES)
    for name in sorted(source.names - changes.get("without", set())):
        tensor = source.read(name).float().numpy()
        if "q_proj" in name or "k_proj" in name:
            tensor = as_pairs(tensor, c.n_heads if "q_proj" in name else c.n_kv_heads)
        writer.add_tensor(llamacpp_name(name), np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llamacpp_name(name: str) -> str:
    for theirs, short in LLAMACPP.items():
        if theirs in name:
            return f"blk.{name.split('.')[2]}.{short}.weight"
    return {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folder")
    saved(oracle("gqa-untied").float(), path)
    tokenizer = Tokenizer(models.BPE({p: i for i, p in enumerate(PIECES)}, [("Ġ", "t")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.save(str(path / "tokenizer.json"))
    return path


@pytest.fixture(scope="module")
def file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "tiny.gguf"
    write_gguf(path, read_folder(folder))
    return path


def copy_of(folder: Path, tmp_path: Path) -> Path:
    for part in folder.iterdir():
        (tmp_path / part.name).write_bytes(part.read_bytes())
    return tmp_path


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    model = in_engine(checkpoint, torch.float32)
    return model.logits(Forgetful(model).feed(TOKENS))


def test_a_gguf_gives_the_same_logits_as_the_folder_it_was_made_from(folder: Path, file: Path):
    assert (logits(read_folder(folder)) - logits(read_gguf(file))).abs().max() <= 1e-5


def test_shards_give_the_same_logits_as_one_file(folder: Path, tmp_path: Path):
    oracle("gqa-untied").float().save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert torch.equal(logits(read_folder(tmp_path)), logits(read_folder(folder)))


@pytest.mark.parametrize("theirs", LLAMACPP)
def test_every_name_of_llamacpp_is_translated(theirs: str):
    assert hf_name(f"blk.7.{LLAMACPP[theirs]}.weight") == f"model.layers.7.{theirs}.weight"


@settings(max_examples=25)
@given(share=st.floats(0, 0.999))
def test_a_truncated_gguf_is_bad_input(file: Path, tmp_path_factory: Any, share: float):
    path = tmp_path_factory.mktemp("cut") / "cut.gguf"
    whole = file.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BadInput) as told:
        Builder(read_gguf(path), torch.float32, CPU, OutIn).model()
    assert "\n" not in str(told.value)


@settings(max_examples=40)
@given(place=st.integers(0, 3000), byte=st.integers(0, 255))
def test_a_damaged_gguf_is_read_or_refused_never_worse(
    file: Path, tmp_path_factory: Any, place: int, byte: int
):
    path = tmp_path_factory.mktemp("hurt") / "hurt.gguf"
    content = bytearray(file.read_bytes())
    content[place] = byte
    path.write_bytes(content)
    with contextlib.suppress(BadInput):
        Builder(read_gguf(path), torch.float32, CPU, OutIn).model()


@settings(max_examples=15)
@given(share=st.floats(0, 0.999))
def test_truncated_safetensors_are_bad_input(folder: Path, tmp_path_factory: Any, share: float):
    path = copy_of(folder, tmp_path_factory.mktemp("cut"))
    weights = path / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BadInput, match="no whole safetensors file"):
        read_folder(path)


FOREIGN: dict[str, tuple[dict[str, object], str]] = {
    "family": ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
    "activation": ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
    "rope": ({"rope_parameters": {"rope_type": "yarn"}}, "rope scaling 'yarn'"),
    "missing": ({"hidden_size": None}, "cannot be read"),
    "words": ({"num_hidden_layers": "many"}, "cannot be read"),
    "none": ({"num_hidden_layers": 0}, "n_layers must be at least 1, got 0"),
    "heads": ({"num_key_value_heads": 3}, "4 query heads cannot share 3"),
    "width": ({"intermediate_size": 47}, r"\(48, 32\), its config asks for \(47, 32\)"),
    "layers": ({"num_hidden_layers": 4}, "has no tensor 'model.layers.3"),
}


@pytest.mark.parametrize(("changes", "words"), FOREIGN.values(), ids=FOREIGN)
def test_foreign_folders_are_refused_by_what_is_wrong(
    changes: dict[str, object], words: str, folder: Path, tmp_path: Path
):
    path = copy_of(folder, tmp_path)
    edit_config(path, **changes)
    with pytest.raises(BadInput, match=words):
        in_engine(read_folder(path))


def test_a_foreign_gguf_is_refused_by_what_is_wrong(folder: Path, tmp_path: Path):
    source, path = read_folder(folder), tmp_path / "x.gguf"
    for changes, words in (
        ({"architecture": "gpt2"}, "general.architecture is 'gpt2'"),
        ({"tokenizer": "llama"}, "tokenizer is 'llama'"),
        ({"without": {"model.norm.weight"}}, "has no tensor 'model.norm.weight'"),
    ):
        write_gguf(path, source, **changes)
        with pytest.raises(BadInput, match=words):
            in_engine(read_gguf(path))


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_its_parts_is_refused(missing: str, folder: Path, tmp_path: Path):
    path = copy_of(folder, tmp_path)
    (path / missing).unlink()
    with pytest.raises(BadInput, match=r"config\.json cannot be read|holds no"):
        read_folder(path)


def test_a_folder_without_tokenizer_still_runs_on_token_ids(folder: Path, tmp_path: Path):
    path = copy_of(folder, tmp_path)
    (path / "tokenizer.json").unlink()
    assert read_folder(path).tokenizer is None
    assert logits(read_folder(path)).isfinite().all()


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"a": 1}', "\x00\x01"])
def test_a_broken_tokenizer_is_bad_input(content: str, folder: Path, tmp_path: Path):
    path = copy_of(folder, tmp_path)
    (path / "tokenizer.json").write_text(content)
    with pytest.raises(BadInput, match="is no tokenizer"):
        read_folder(path)


@pytest.mark.parametrize("source", ["nothing-here", "", "/", __file__])
def test_what_is_no_model_is_bad_input(source: str):
    with pytest.raises(BadInput):
        open_checkpoint(source)


@given(text=st.text(max_size=60))
def test_a_rebuilt_tokenizer_gives_back_every_text(text: str):
    tokenizer = from_gguf(VOCABULARY)
    text = text.replace("<|end|>", "")
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_rebuilt_tokenizer_cuts_every_digit_apart():
    pieces = from_gguf(VOCABULARY).tokens.encode(" the 1234").tokens
    assert pieces == ["Ġthe", "Ġ", "1", "2", "3", "4"]


def test_unknown_ways_to_cut_words_are_refused():
    with pytest.raises(BadInput, match="'tekken'"):
        from_gguf({**VOCABULARY, "tokenizer.ggml.pre": "tekken"})


def test_a_model_is_loaded_once_and_a_failure_may_be_tried_again(folder: Path):
    first = load_in_background(str(folder), torch.float32, CPU)
    assert load_once(str(folder), torch.float32, CPU) is first.result()
    for _ in range(2):
        with pytest.raises(BadInput):
            load_once("nothing-here", torch.float32, CPU)


def test_a_load_in_the_background_shares_its_work_with_no_helpers(monkeypatch: pytest.MonkeyPatch):
    def load(*_: object) -> Loaded:
        raise BadInput(f"{torch.get_num_threads()} threads")

    monkeypatch.setattr(sources, "load", load)
    with pytest.raises(BadInput, match="1 threads"):
        Shelf().start("any", torch.float32, CPU).result()


def test_a_config_read_back_from_json_is_smollm2s():
    config = {
        "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536,
        "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
        "vocab_size": 49152, "max_position_embeddings": 8192, "rope_theta": 100000,
        "rms_norm_eps": 1e-05, "tie_word_embeddings": True, "eos_token_id": 2,
        "rope_scaling": None, "hidden_act": "silu", "rope_interleaved": False,
    }  # fmt: skip
    assert from_hf(json.loads(json.dumps(config))) == SMOLLM2


@pytest.mark.smollm
def test_smollm2_is_found_without_being_imported():
    path = smollm2_path()
    assert path is not None
    found = read_gguf(path)
    assert found.tokenizer is not None
    assert found.config.numbers_per_token == SMOLLM2.numbers_per_token
    assert found.tokenizer.encode("Hello world 1234") == [19556, 905, 216, 33, 34, 35, 36]
