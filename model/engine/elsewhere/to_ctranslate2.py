"""Our weights as a CTranslate2 folder, made by its own converter in a process of its own.

`python -m model.engine.elsewhere.to_ctranslate2 SOURCE TARGET DTYPE`, where SOURCE is a folder
that transformers wrote: so its library is never loaded beside the PyTorch that is measured.
"""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from model.errors import BadInput


def write(theirs: Any, dtype: str, path: Path) -> None:
    """Convert transformers' model. Raises BadInput with the converter's last words."""
    source = path.with_name(f"{path.name}-source")
    from transformers.utils import logging  # noqa: PLC0415 - only a benchmark needs it

    logging.disable_progress_bar()
    theirs.save_pretrained(source)
    words = [sys.executable, "-m", __name__, str(source), str(path), dtype]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BadInput(f"CTranslate2 cannot take this model: {said}")


def convert(source: str, target: str, dtype: str) -> None:
    """Read a Llama, name its tokens by number, and save it."""
    from transformers import LlamaForCausalLM  # noqa: PLC0415 - only a benchmark needs it

    converters: Any = importlib.import_module("ctranslate2.converters.transformers")
    theirs = LlamaForCausalLM.from_pretrained(source, dtype="float32")
    spec = converters.LlamaLoader().get_model_spec(theirs)
    spec.register_vocabulary([str(token) for token in range(theirs.config.vocab_size)])
    for name in ("unk_token", "bos_token", "eos_token"):
        setattr(spec.config, name, "0")
    spec.validate()
    spec.optimize(quantization=dtype)
    Path(target).mkdir()
    spec.save(target)


if __name__ == "__main__":
    convert(*sys.argv[1:])
