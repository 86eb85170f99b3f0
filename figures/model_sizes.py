"""Caches of models people serve, at a context of your choice, and without their tricks."""

from typing import Any

import param

from figures.base import Figure

TOKENS = (1_024, 4_096, 16_384, 65_536, 131_072)
SHORT = 32  # contexts of 1 to this many tokens are there for the reader's sentence
MODELS = (
    "Llama 2 7B",
    "Llama 3.1 8B",
    "Mistral 7B v0.1",
    "Gemma 3 27B",
    "gpt-oss 120B",
    "DeepSeek-V3",
    "DeepSeek-V4.1-Flash",
)


class ModelSizes(Figure):
    tokens = param.Integer(
        default=3, bounds=(0, len(TOKENS) - 1), label="Context", doc="Tokens in the context."
    )
    plain = param.Boolean(
        default=False,
        label="Without sharing",
        doc="Also draw what every query head's own keys and values in every layer would take.",
    )

    title = "How big is it?"
    description = (
        "A bar a model: the bytes of its cache for one sequence at the chosen context, beside "
        "those of a context as long as your sentence."
    )
    sources = ("model.sizing.size:total_bytes", "model.sizing.alternatives:naive")

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}

    @classmethod
    def data(cls) -> dict[str, Any]:
        return {"tokens": TOKENS, "models": [sized(name) for name in MODELS]}


def sized(name: str) -> dict[str, Any]:
    """Bytes of one model at every context: as it is, and with nothing shared."""
    from model.sizing import alternatives, catalogue  # noqa: PLC0415 -- only when a page is made
    from model.sizing.question import Question  # noqa: PLC0415
    from model.sizing.size import size, total_bytes  # noqa: PLC0415

    model = catalogue.load(name)
    bare = alternatives.naive(model) or model
    first = size(model, Question(tokens=1))
    return {
        "name": model.name,
        "source": model.source,
        "per_token": float(first.bytes_per_token_first),
        "marginal": float(first.bytes_per_token_marginal),
        "short": [total_bytes(model, Question(tokens=n)) for n in range(1, SHORT + 1)],
        "bytes": [total_bytes(model, Question(tokens=n)) for n in TOKENS],
        "bare": [total_bytes(bare, Question(tokens=n)) for n in TOKENS],
    }
