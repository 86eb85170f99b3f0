"""The answer as plain values: what `kvscroll size --json` prints and the page reads."""

from fractions import Fraction
from typing import Any

from model.sizing import formula
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
        "views": views(model, question),
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


def views(model: Model, question: Question) -> dict[str, int]:
    """Total bytes as each engine allocates them, all else equal."""
    values = {k: getattr(question, k) for k in question.__dataclass_fields__}
    return {name: total_bytes(model, Question(**{**values, "engine": name})) for name in ENGINES}


def fit_dict(fit: Fit) -> dict[str, Any]:
    return {
        "memory_bytes": fit.memory_bytes,
        "weight_bytes": fit.weight_bytes,
        "free_bytes": fit.free_bytes,
        "sequences": fit.sequences,
        "tokens": fit.tokens,
        "note": fit.note,
    }
