"""Measure decoding on this machine: ours and transformers in turns, on the same weights."""

import argparse
import importlib
import json
from typing import Any

import torch

from app import bench_plot
from app.quality_bench import quality
from app.speed_bench import speed
from app.sweep_bench import sweep
from model.engine.devices import DEVICES, DTYPES, out_of_memory_as_bad_input
from model.errors import BadInput


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--page", action="store_true", help="measure the page instead")
    kind.add_argument("--sweep", action="store_true", help="measure contexts by batches")
    kind.add_argument("--quality", action="store_true", help="measure perplexity of small caches")
    parser.add_argument("--model", default="smollm2", help="smollm2, a GGUF file or a model folder")
    parser.add_argument("--random", metavar="SHAPE", help="random weights: tiny, or a known model")
    parser.add_argument("--device", choices=DEVICES)
    parser.add_argument("--dtype", choices=DTYPES, action="append", help="repeat for several")
    parser.add_argument("--context", type=int, default=128, metavar="N", help="prompt tokens")
    parser.add_argument("--new-tokens", type=int, default=128, metavar="N")
    parser.add_argument("--batch", type=int, default=1, metavar="N")
    parser.add_argument("--contexts", type=int, nargs="+", metavar="N", help="of a sweep")
    parser.add_argument("--batches", type=int, nargs="+", metavar="N", help="of a sweep")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="of the processor")
    parser.add_argument("--plot", metavar="FILE", help="draw what was found into an HTML file")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")


def run(args: argparse.Namespace) -> int:
    """Measure what was asked for."""
    if args.page:
        return importlib.import_module("app.page_bench").run(args)  # it loads a browser's driver
    if args.threads is not None:
        if args.threads < 1:
            message = f"--threads {args.threads}: use at least 1"
            raise BadInput(message)
        torch.set_num_threads(args.threads)
    if args.plot is not None:
        if args.quality:
            raise BadInput("--plot draws speeds: leave out --quality")
        bench_plot.check(args.plot)
    measured = quality if args.quality else sweep if args.sweep else speed
    with out_of_memory_as_bad_input():
        answer = measured(args)
    if args.plot is not None:
        bench_plot.write(answer, args.plot)
    print(json.dumps(answer, indent=1) if args.json else told(answer))
    return 0


def told(answer: dict[str, Any]) -> str:
    """Set an answer for a reader: the rows, then what follows from them."""
    if "claims" in answer:
        return f"{table(answer['rows'])}\n{judged(answer['claims'])}"
    if "skipped" in answer:
        notes = [f"{one['dtype']}: {one['skipped']}" for one in answer["skipped"]]
        return "\n".join([*([table(answer["rows"])] if answer["rows"] else []), *notes])
    return f"{table(answer['rows'])}\n{verdict(answer)}"


def table(rows: list[dict[str, Any]]) -> str:
    """Set rows in columns."""
    columns = [name for name in rows[0] if name not in LISTS]
    cells = [columns, *([shown(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


LISTS = {"decode_ms_of_each_repeat"}


def shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def judged(found: list[dict[str, Any]]) -> str:
    """Say of each claim whether it holds, with the number of every text."""
    lines = []
    for one in found:
        lines.append(f"{'holds' if one['holds'] else 'FAILS'}: {one['claim']}: "
                     f"{shown(one['value'])}, {one['bound']}")  # fmt: skip
        lines += [f"    {text}: {shown(value)}" for text, value in one["by_text"].items()]
    return "\n".join(lines)


def verdict(answer: dict[str, Any]) -> str:
    """Say the ratios in words."""
    said = {
        "ratios_to_transformers": "times transformers' best",
        "ratios_to_no_cache": "times itself without a cache",
        "ratios_to_llama_cpp": "times llama.cpp",
        "ratios_to_ctranslate2": "times CTranslate2",
    }
    lines = [
        f"{dtype}: {shown(found)} {words}"
        for key, words in said.items()
        for dtype, found in answer[key].items()
        if found is not None
    ]
    reading = answer["prefill_bfloat16_to_float32"]
    if reading is not None:
        lines.append(f"prompts: bfloat16 is read {shown(reading)} times as fast as float32")
    return "\n".join(lines)
