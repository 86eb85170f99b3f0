"""A file a reader has, whatever it is: a config, a directory with one, GGUF, or safetensors."""

from dataclasses import replace
from pathlib import Path

from model.errors import BadInput
from model.sizing.headers import gguf, gguf_model, safetensors
from model.sizing.layers import Model
from model.sizing.pasted import parse_object, read_bounded
from model.sizing.read_config import read_config


def read_file(path: Path, *, treat_as: str = "") -> Model:
    """The model a local file describes. Only headers of weight files are read.

    Raises BadInput when the file cannot be read, is damaged, or does not say enough.
    """
    try:
        if path.is_dir():
            return read_file(path / "config.json", treat_as=treat_as)
        with path.open("rb") as file:
            start = file.read(9)
        if start[:4] == gguf.MAGIC:
            return gguf_model.model_of(gguf.read_header(path), path.name)
        if path.suffix == ".safetensors" or start[8:9] == b"{":
            return beside_weights(path, treat_as=treat_as)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot read {path}: {reason}") from None
    return config_file(path, treat_as=treat_as)


def config_file(path: Path, *, treat_as: str) -> Model:
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return read_config(parse_object(read_bounded(path)), name=name, treat_as=treat_as)


def beside_weights(path: Path, *, treat_as: str) -> Model:
    """The config beside a safetensors file, with the weights counted in the header."""
    config = path.parent / "config.json"
    weights = safetensors.read_weights(path)
    if not config.is_file():
        raise BadInput(
            f"{path.name} holds {weights.numbers:,} numbers, but not which layers slide or share: "
            "put its config.json beside it"
        )
    model = config_file(config, treat_as=treat_as)
    if not weights.plain:  # packed integers: the header's count is not the model's
        return replace(model, stored_weight_bytes=weights.n_bytes)
    notes = model.warnings
    if model.parameters not in (None, weights.numbers):
        both = f"{weights.numbers:,} numbers, the config gives {model.parameters:,} weights"
        notes += (f"the header holds {both}",)
    return replace(
        model, parameters=weights.numbers, stored_weight_bytes=weights.n_bytes, warnings=notes
    )
