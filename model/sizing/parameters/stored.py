"""What a config says about how its weights are stored."""

from collections.abc import Mapping
from typing import Any

DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}


def weights_stored_as(config: Mapping[str, Any]) -> str | None:
    """The quantisation, else the number type, a config declares; None when it is silent."""
    quantised = config.get("quantization_config")
    if isinstance(quantised, Mapping):
        method = quantised.get("quant_method")
        bits = quantised.get("bits")
        shown = method if isinstance(method, str) and len(method) < 40 else "quantised"  # noqa: PLR2004
        return f"{shown} ({bits} bits)" if isinstance(bits, int) and 0 < bits < 33 else shown  # noqa: PLR2004
    for place in (config, config.get("text_config")):
        if isinstance(place, Mapping):
            dtype = place.get("dtype") or place.get("torch_dtype")
            if isinstance(dtype, str) and dtype.removeprefix("torch.") in DTYPE_BYTES:
                return dtype.removeprefix("torch.")
    return None
