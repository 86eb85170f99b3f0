"""The shipped weights: JSON with three decimals, so that what a screen shows IS the weight."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from model.toy.config import ToyConfig
from model.toy.parameters import Shapes, shapes

DECIMALS = 3
SHIPPED = Path(__file__).with_name("weights.json")
Weights = dict[str, Tensor]


def rounded(weights: Mapping[str, Tensor]) -> Weights:
    """Round to what would be written."""
    return {
        name: torch.tensor(
            [float(f"{x:.{DECIMALS}f}") for x in tensor.flatten().tolist()], dtype=torch.float64
        ).reshape(tensor.shape)
        for name, tensor in weights.items()
    }


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def as_text(weights: Mapping[str, Tensor]) -> str:
    """One parameter a line, its numbers in storage order, each written with three decimals."""
    lines = [
        f'"{name}": [{", ".join(f"{x:.{DECIMALS}f}" for x in tensor.flatten().tolist())}]'
        for name, tensor in weights.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def checksum_file(path: Path) -> Path:
    return path.with_suffix(".json.sha256")


def save(weights: Mapping[str, Tensor], path: Path) -> str:
    """Write the weights and their checksum beside them; return the checksum."""
    text = as_text(weights)
    path.write_text(text)
    checksum_file(path).write_text(f"{checksum(text)}  {path.name}\n")
    return checksum(text)


def load(
    config: ToyConfig, path: Path = SHIPPED, shapes_of: Callable[[ToyConfig], Shapes] = shapes
) -> Weights:
    """Read weights in float64; refuse a file that is not the one its checksum was made of."""
    text = path.read_text()
    expected = checksum_file(path).read_text().split()[0]
    if checksum(text) != expected:
        raise ValueError(f"{path.name} has checksum {checksum(text)}, expected {expected}")
    numbers = json.loads(text)
    return {
        name: torch.tensor(numbers[name], dtype=torch.float64).reshape(shape)
        for name, shape in shapes_of(config).items()
    }
