"""The catalogue the calculator knows: every model with its source, as a table or JSON."""

import argparse
import json
from fractions import Fraction
from typing import Any

from model.sizing import catalogue
from model.sizing.catalogue import Entry
from model.sizing.layers import owners
from model.sizing.question import Question
from model.sizing.report import number
from model.sizing.size import size
from model.sizing.units import binary


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", help="show only names that hold these words")
    parser.add_argument("--json", action="store_true", help="print JSON alone")


def run(args: argparse.Namespace) -> int:
    wanted = [word.lower() for word in args.words]
    rows = [
        describe(entry)
        for entry in catalogue.entries()
        if all(word in f"{entry.name} {' '.join(entry.aliases)}".lower() for word in wanted)
    ]
    if args.json:
        print(json.dumps({"models": rows}, indent=2, ensure_ascii=False))
    else:
        show(rows)
    return 0


def describe(entry: Entry) -> dict[str, Any]:
    """One model's line: layers, slopes, weights, source."""
    model = catalogue.model_of(entry.name)
    answer = size(model, Question(tokens=1))
    return {
        "name": entry.name,
        "aliases": list(entry.aliases),
        "model_type": model.model_type,
        "layers": len(model.layers),
        "layers_with_a_cache": len(owners(model.layers)),
        "kinds": sorted({layer.kind for layer in model.layers}),
        "max_tokens": model.max_tokens,
        "bytes_per_token_first": number(answer.bytes_per_token_first),
        "bytes_per_token_marginal": number(answer.bytes_per_token_marginal),
        "fixed_bytes": answer.fixed_bytes,
        "parameters": model.parameters,
        "source": entry.source,
        "certainty": entry.certainty,
        "note": entry.note,
    }


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'model':<28} {'layers':>6} {'a token':>12} {'later':>12} {'parameters':>17}  kinds")
    for row in rows:
        first = binary(float(Fraction(row["bytes_per_token_first"])))
        later = binary(float(Fraction(row["bytes_per_token_marginal"])))
        parameters = f"{row['parameters']:,}" if row["parameters"] else "-"
        print(
            f"{row['name']:<28} {row['layers']:>6} {first:>12} {later:>12} {parameters:>17}  "
            f"{', '.join(row['kinds'])}"
        )
    print(f"{len(rows)} models; sources and notes: kvscroll models --json")
