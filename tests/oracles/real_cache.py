"""The real thing: a class of transformers, its cache filled, and the bytes of its tensors."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

transformers.logging.set_verbosity_error()
DEEPEST = 6


@contextmanager
def quiet() -> Iterator[None]:
    """Third-party code warns of kernels that are not installed; that is not ours to fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def config_of(model_type: str, raw: dict[str, Any]) -> Any:
    """The configuration as transformers reads it from a file."""
    with quiet():
        return CONFIG_MAPPING[model_type].from_dict(dict(raw))


def build(model_type: str, raw: dict[str, Any], device: str, kind: Any = None) -> Any:
    """The class with random weights, in bf16."""
    config = config_of(model_type, raw)
    kind = kind or AutoModelForCausalLM
    with quiet(), torch.device(device):
        return kind.from_config(config, dtype=torch.bfloat16).eval()


def decoder_cache(model: Any, n_tokens: int, device: str) -> Any:
    """What the model returns as its cache after reading `n_tokens`, the last one on its own.

    The last step makes a window's slice a tensor of its own rather than a view of the prompt.
    """
    ids = torch.zeros((1, n_tokens), dtype=torch.long, device=device)
    with quiet(), torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    return next(out[k] for k in ("past_key_values", "cache_params", "cache") if k in out)


def encoder_decoder_cache(model_type: str, raw: dict[str, Any], tokens: int, source: int) -> Any:
    speech = model_type == "whisper"
    kind = AutoModelForSpeechSeq2Seq if speech else AutoModelForSeq2SeqLM
    model = build(model_type, raw, "cpu", kind)
    written = torch.ones((1, tokens), dtype=torch.long)
    read = torch.ones((1, source), dtype=torch.long)
    features = torch.zeros((1, raw.get("num_mel_bins", 0), 2 * source), dtype=torch.bfloat16)
    given = {"input_features": features} if speech else {"input_ids": read}
    with quiet(), torch.no_grad():
        return model(**given, decoder_input_ids=written, use_cache=True)["past_key_values"]


def tensors(thing: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Every tensor inside a cache object, however it is arranged."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif depth > DEEPEST:
        return
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from tensors(value, depth + 1)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from tensors(value, depth + 1)
    elif is_cache_part(thing):
        yield from tensors(vars(thing), depth + 1)


def is_cache_part(thing: Any) -> bool:
    ours = type(thing).__module__.startswith("transformers") and hasattr(thing, "__dict__")
    return ours and not isinstance(thing, transformers.PreTrainedConfig)


def n_bytes(cache: Any) -> int:
    """Bytes of the numbers a cache holds, each tensor once however often it is referred to.

    A window's layer also keeps a counter of its tokens, one whole number: no key or value.
    """
    found = {id(t): t for t in tensors(cache) if t.is_floating_point()}
    return sum(t.numel() * t.element_size() for t in found.values())
