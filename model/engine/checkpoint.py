"""What a weights file is turned into: a config, tensors by Hugging Face name, a tokenizer."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from model.engine.config import EngineConfig
from model.engine.tokenizer import TextTokenizer
from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Weights that are read one at a time, so that loading never holds two copies of a model.

    names: the tensors there are; read: one of them by name, in the file's precision.
    """

    name: str
    config: EngineConfig
    names: frozenset[str]
    read: Callable[[str], Tensor]
    tokenizer: TextTokenizer | None

    def take(self, name: str, *shape: int) -> Tensor:
        """Read a tensor that must be there in this shape."""
        if name not in self.names:
            message = f"{self.name} has no tensor {name!r}: it is incomplete or of another family"
            raise BadInput(message)
        tensor = self.read(name)
        if tuple(tensor.shape) != shape:
            message = (
                f"{self.name}: {name} is {tuple(tensor.shape)}, its config asks for {tuple(shape)}"
            )
            raise BadInput(message)
        return tensor

    def take_if_there(self, name: str, *shape: int) -> Tensor | None:
        """Read a tensor that some members of the family lack (biases)."""
        return self.take(name, *shape) if name in self.names else None


def read_json(path: Path) -> dict[str, object]:
    """Read a JSON object from disk. Raises BadInput where it is missing or broken."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise BadInput(message) from error
    except ValueError as error:  # JSON and UTF-8 errors are both ValueErrors
        message = f"{path} is not JSON: {error}"
        raise BadInput(message) from error
    if not isinstance(content, dict):
        message = f"{path} holds a {type(content).__name__}, a JSON object is needed"
        raise BadInput(message)
    return content
