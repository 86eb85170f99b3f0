"""Measure what smaller caches cost a model: perplexity of our own texts, case by case."""

import argparse
from pathlib import Path
from typing import Any

from app.speed_bench import TEXTS, circumstances, remark
from model.engine.claims import SLOTS, claims
from model.engine.devices import choose_device, choose_dtype
from model.engine.first_token import first_token_shares
from model.engine.model import LanguageModel
from model.engine.perplexity import Quality
from model.engine.perplexity import measure as measure_quality
from model.engine.sources import load_once
from model.errors import BadInput


def quality(args: argparse.Namespace) -> dict[str, Any]:
    """Measure every window and format on every text of ours."""
    device = choose_device(args.device)
    dtype = choose_dtype(args.dtype[0] if args.dtype else "float32", device)
    loaded = load_once(args.model, dtype, device)
    if loaded.tokenizer is None:
        message = f"{loaded.name} has no tokenizer.json: a text cannot be turned into tokens"
        raise BadInput(message)
    rows, first_token = [], []
    for path in sorted(TEXTS.glob("*/*.txt")):
        tokens = loaded.tokenizer.encode(path.read_text(encoding="utf-8"))
        first_token.append(first_token_row(path, loaded.model, tokens))
        for found in measure_quality(loaded.model, tokens):
            rows.append(quality_row(path, len(tokens), found))
            remark(str(rows[-1]))
    return {
        **circumstances(loaded.name, device),
        "dtype": str(dtype).split(".")[1],
        "rows": rows,
        "first_token": first_token,
        "claims": claims(rows),
    }


def first_token_row(path: Path, model: LanguageModel, tokens: list[int]) -> dict[str, Any]:
    """Weigh the first token of a text, once a cache of the smallest window would have lost it."""
    by_layer, even = first_token_shares(model, tokens, after=SLOTS)
    return {
        "text": path.stem,
        "share": sum(by_layer) / len(by_layer),
        "even_share": even,
        "share_by_layer": by_layer,
    }


def quality_row(path: Path, n_tokens: int, found: Quality) -> dict[str, Any]:
    """Flatten one result on a text; its folder says what kind of text it is."""
    values = {name: value for name, value in found._asdict().items() if name != "case"}
    relative = found.perplexity / found.full_perplexity
    told = {"text": path.stem, "text_kind": path.parent.name, "tokens": n_tokens}
    return {**told, **vars(found.case), **values, "ratio": relative}
