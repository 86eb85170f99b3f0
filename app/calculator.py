"""The calculator's answers as the page shows them: exact sizes, arithmetic, what fits, growth.

One function of one text, like every part of the wire: the text is the form as JSON.
"""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from model.errors import BadInput
from model.sizing import alternatives, catalogue, formula
from model.sizing.complaints import wrong
from model.sizing.fit import fit
from model.sizing.formats import FORMATS
from model.sizing.layers import Model
from model.sizing.pasted import parse_object
from model.sizing.question import ENGINES, MAX_TOKENS, Question
from model.sizing.read_config import read_config
from model.sizing.report import as_dict, fit_dict
from model.sizing.size import size, total_bytes
from model.sizing.units import both, parse_bytes

MAX_FORM_CHARS = 150_000  # a pasted config.json and the rest of the form
MAX_MODELS = 4
CURVE_TOKENS = tuple(2**i for i in range(7, 21))
LIMITS = {
    "tokens": (0, MAX_TOKENS),
    "batch": (1, 1_000_000),
    "beams": (1, 1024),
    "tensor_parallel": (1, 4096),
    "block_size": (1, 65_536),
    "shared_prefix": (0, MAX_TOKENS),
    "encoder_tokens": (0, MAX_TOKENS),
}
FIRST_MODEL = "Llama 2 7B"
CHOICES = ("k_format", "v_format", "engine")


def options() -> dict[str, Any]:
    """What the form offers: models, formats and engines, by name."""
    return {
        "models": [entry.name for entry in catalogue.entries()],
        "formats": ["auto", *FORMATS],
        "engines": {name: engine.note for name, engine in ENGINES.items()},
        "limits": LIMITS,
        "max_models": MAX_MODELS,
        "max_chars": MAX_FORM_CHARS,
    }


def complaints() -> list[dict[str, str]]:
    """What other tools wrongly answered to public questions, and the right answer, computed."""
    return [
        {
            "asked": one.asked,
            "answered": one.answered,
            "right": f"{one.right():,} {one.unit}",
            "why": one.why,
            "source": one.source,
        }
        for one in wrong()
    ]


def calculate(text: str) -> dict[str, Any]:
    """Answer one filled-in form.

    Raises
    ------
    BadInput
        Whatever cannot be read or is out of bounds, in one line.
    """
    form = _form(text)
    notes: list[str] = []
    question = _question(form, notes)
    moved = {name: getattr(question, name) for name in LIMITS if _differs(form, question, name)}
    memory = _memory(str(form["memory"])) if form.get("memory") else None
    models = _models(form)
    return {
        "notes": notes,
        "moved": moved,
        "answers": [_answer(model, question, memory) for model in models],
        "curve": {"tokens": CURVE_TOKENS, "bytes": [_curve(m, question) for m in models]},
    }


def _form(text: str) -> dict[str, Any]:
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput("the form did not arrive whole; reload the page") from error
    if not isinstance(form, dict):
        raise BadInput("the form did not arrive whole; reload the page")
    return form


def _memory(written: str) -> int:
    """Bytes of one GPU's memory; the form says that a number without a unit counts GiB."""
    bare = written.replace(".", "", 1).strip().isdecimal()
    return parse_bytes(f"{written.strip()}GiB" if bare else written)


def _models(form: dict[str, Any]) -> list[Model]:
    names, config = form.get("models") or [], form.get("config")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadInput("the list of models did not arrive whole; choose a model again")
    if len(names) > MAX_MODELS:
        raise BadInput(f"{len(names)} models are asked for; compare at most {MAX_MODELS}")
    models = [_named(name) for name in names]
    if isinstance(config, str) and config.strip():
        models.insert(0, read_config(parse_object(config), name="your config.json"))
    if not models:
        raise BadInput("no model is chosen: pick one, or paste a config.json")
    return models


@lru_cache(maxsize=256)
def _named(name: str) -> Model:
    return catalogue.load(name[:120])


def _question(form: dict[str, Any], notes: list[str]) -> Question:
    numbers = {
        name: _clamped(name, form[name], notes)
        for name in LIMITS
        if form.get(name) not in (None, "")
    }
    numbers.setdefault("tokens", 4096)
    if numbers.get("shared_prefix", 0) > numbers["tokens"]:
        notes.append(f"the shared prefix is cut to the {numbers['tokens']:,} tokens there are")
        numbers["shared_prefix"] = numbers["tokens"]
    chosen = {name: str(form[name]) for name in CHOICES if form.get(name)}
    filled: dict[str, Any] = {**numbers, **chosen}
    return Question(**filled)


def _differs(form: dict[str, Any], question: Question, name: str) -> bool:
    """Whether a number of the form is not the one that was used."""
    given = str(form.get(name) or "").replace(",", "")
    return bool(given) and given != str(getattr(question, name))


def _clamped(name: str, value: object, notes: list[str]) -> int:
    """A whole number within bounds; what was moved is said."""
    low, high = LIMITS[name]
    words = name.replace("_", " ")
    try:
        asked = int(float(str(value).replace(",", "").replace("_", "")))
    except (ValueError, OverflowError) as error:
        shown = str(value)[:20]
        raise BadInput(f"{words} is {shown!r}: give a whole number, {low:,} to {high:,}") from error
    kept = min(high, max(low, asked))
    if kept != asked:
        notes.append(f"{words} {asked:,} is out of bounds; {kept:,} is shown")
    return kept


def _answer(model: Model, question: Question, memory: int | None) -> dict[str, Any]:
    answer = size(model, question)
    told = as_dict(answer)
    for layer in told["layers"]:
        del layer["holds"]
    told["shown"] = {"total": both(answer.cache_bytes), "weights": _both(answer.weight_bytes)}
    told["formula"] = [
        {"text": line.text, "bytes": line.n_bytes, "kind": line.kind}
        for line in formula.lines(answer)
    ]
    told["without"] = _without(model, question, answer.cache_bytes)
    told["fit"] = fit_dict(fit(model, question, memory)) if memory else None
    return told


def _both(n_bytes: int | None) -> str:
    return "" if n_bytes is None else both(n_bytes)


def _without(model: Model, question: Question, n_bytes: int) -> dict[str, int]:
    """Totals of the models it might have been; those that change nothing are left out."""
    totals = {
        name: total_bytes(change(model), question)
        for name, change in alternatives.ALTERNATIVES.items()
    }
    return {name: total for name, total in totals.items() if total != n_bytes}


def _curve(model: Model, question: Question) -> list[int]:
    return [
        total_bytes(
            model, replace(question, tokens=n, shared_prefix=min(n, question.shared_prefix))
        )
        for n in CURVE_TOKENS
    ]
