"""The answer as plain values: what `kvscroll size --json` prints and the page reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from model.errors import BadInput
from model.sizing import formula
from model.sizing.engines import NotInEngine
from model.sizing.fit import Fit
from model.sizing.layers import Model
from model.sizing.question import ENGINES, Question
from model.sizing.size import Answer, LayerSize, total_bytes


def number(value: Fraction) -> int | float:
    """A whole number as such; 890.5 as a float."""
    return value.numerator if value.denominator == 1 else float(value)


def as_dict(answer: Answer) -> dict[str, Any]:
    """The whole answer. `bytes_per_token_*` are per sequence; other bytes are for the batch."""
    question, model = answer.question, answer.model
    seen = views(model, question)
    return {
        "model": model.name,
        "model_type": model.model_type,
        "tokens": question.tokens,
        "batch": question.batch,
        "beams": question.beams,
        "encoder_tokens": answer.encoder_tokens,
        "engine": question.engine,
        "formats": {
            "k": question.k_format,
            "v": question.v_format,
            "index": question.index_format,
            "state": question.state_format,
            "weights": question.weight_format,
        },
        "tensor_parallel": question.tensor_parallel,
        "block_size": question.block_size,
        "shared_prefix": question.shared_prefix,
        "bytes_per_token_first": number(answer.bytes_per_token_first),
        "bytes_per_token_marginal": number(answer.bytes_per_token_marginal),
        "fixed_bytes": answer.fixed_bytes,
        "cache_bytes": answer.cache_bytes,
        "padding_bytes": answer.padding_bytes,
        "bytes_per_gpu": answer.bytes_per_gpu,
        "weight_bytes": answer.weight_bytes,
        "parameters": model.parameters,
        "max_tokens": model.max_tokens,
        "layers": [layer_dict(layer) for layer in answer.layers],
        "formula": [line.text for line in formula.lines(answer)],
        "total": formula.total_line(answer),
        "views": dict(seen.n_bytes),
        "not_in_engine": dict(seen.not_in_engine),
        "source": model.source,
        "assumed": list(answer.assumed),
        "warnings": list(answer.warnings),
    }


def layer_dict(layer: LayerSize) -> dict[str, Any]:
    return {
        "index": layer.index,
        "kind": layer.kind,
        "owner": layer.owner,
        "numbers_per_token": number(layer.numbers_per_token),
        "window": layer.window,
        "bytes": layer.n_bytes,
        "holds": [dict(held) for held in layer.holds],
    }


@dataclass(frozen=True, kw_only=True)
class Views:
    """Total bytes as each engine allocates them; where one cannot, why not, in a line."""

    n_bytes: Mapping[str, int]
    not_in_engine: Mapping[str, str]


def views(model: Model, question: Question) -> Views:
    """The same question to every engine. What the question's own engine refuses is raised.

    So what another one refuses is its lack: no such format, or layers it is not known to page.
    """
    found: dict[str, int] = {}
    lacking: dict[str, str] = {}
    for name in ENGINES:
        try:
            found[name] = total_bytes(model, replace(question, engine=name))
        except BadInput as refusal:
            if name == question.engine:
                raise
            known = isinstance(refusal, NotInEngine)
            lacking[name] = str(refusal) if known else f"not in this engine: {refusal}"
    return Views(n_bytes=found, not_in_engine=lacking)


def fit_dict(fit: Fit) -> dict[str, Any]:
    return {
        "memory_bytes": fit.memory_bytes,
        "weight_bytes": fit.weight_bytes,
        "free_bytes": fit.free_bytes,
        "sequences": fit.sequences,
        "tokens": fit.tokens,
        "note": fit.note,
    }
