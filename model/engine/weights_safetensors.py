"""Weights from a local Hugging Face folder: config.json, *.safetensors, tokenizer.json."""

# ruff: noqa: PLC0415 - readers are an extra, imported where they are used

from pathlib import Path

from torch import Tensor

from model.engine.checkpoint import Checkpoint, read_json
from model.engine.config import from_hf
from model.engine.tokenizer import TextTokenizer, from_file
from model.errors import BadInput


def read_folder(path: Path) -> Checkpoint:
    """Open a model folder. Raises BadInput if a part is missing, corrupt or foreign."""
    config = from_hf(read_json(path / "config.json"))
    files = {name: file for file in weight_files(path) for name in tensor_names(file)}
    return Checkpoint(
        name=path.name,
        config=config,
        names=frozenset(files),
        read=lambda name: read_tensor(files[name], name),
        tokenizer=read_tokenizer(path),
    )


def weight_files(path: Path) -> list[Path]:
    """Return the safetensors files of a folder: one, or the shards its index names."""
    index = path / "model.safetensors.index.json"
    if not index.exists():
        found = sorted(path.glob("*.safetensors"))
        if not found:
            message = f"{path} holds no *.safetensors file: only that format is read"
            raise BadInput(message)
        return found
    where = read_json(index).get("weight_map")
    if not isinstance(where, dict):
        message = f"{index} has no weight_map"
        raise BadInput(message)
    return [path / Path(str(name)).name for name in sorted(set(where.values()))]


def tensor_names(file: Path) -> list[str]:
    """List the tensors of one file, without reading them."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as tensors:
            return list(tensors.keys())
    except (OSError, SafetensorError) as error:
        message = f"{file} is no whole safetensors file (corrupt or truncated): {error}"
        raise BadInput(message) from error


def read_tensor(file: Path, name: str) -> Tensor:
    """Read one tensor in the precision it was saved in."""
    from safetensors import safe_open

    with safe_open(file, framework="pt") as tensors:
        return tensors.get_tensor(name)


def read_tokenizer(path: Path) -> TextTokenizer | None:
    """Return the folder's tokenizer; None without one (token ids can still be generated)."""
    if not (path / "tokenizer.json").exists():
        return None
    settings = path / "tokenizer_config.json"
    return from_file(path / "tokenizer.json", read_json(settings) if settings.exists() else {})
