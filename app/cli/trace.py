"""Run the toy on a sentence, with and without the cache, and print what happened."""

import argparse
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from model.toy.record import record
from model.toy.trace import Run, Step, Trace, Work

N_ALTERNATIVES = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the sentence, in English; any text is read")
    parser.add_argument("--json", action="store_true", help="JSON alone")
    parser.add_argument(
        "--full", action="store_true", help="with every key, value, score and weight (JSON)"
    )


def run(args: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    trace = record(args.text)
    if args.json or args.full:
        found = overview(trace) | (everything(trace) if args.full else {})
        print(json.dumps(found, ensure_ascii=True, allow_nan=False))
    else:
        print(table(trace))
    return 0


def overview(trace: Trace) -> dict[str, Any]:
    """Tell the run in numbers. `words` ends with the end mark: one word a decode step."""
    reading = trace.reading
    return {
        "tokens": [vars(token) for token in reading.tokens],
        "left": list(reading.left),
        "n_left": reading.n_left,
        "n_unread_characters": reading.n_unread,
        "n_dropped_characters": reading.n_dropped,
        "sentence": trace.sentence,
        "words": [trace.shown(word) for word in trace.words],
        "finished": trace.finished,
        "steps": [
            step_overview(trace, cached, full)
            for cached, full in zip(trace.cached.steps, trace.naive.steps, strict=True)
        ],
        "max_abs_diff": trace.max_abs_diff,
        "same_words": trace.same_words,
        "positions_full": trace.positions_naive,
        "positions_cached": trace.positions_cached,
        "numbers_per_token": trace.numbers_per_token,
        "cache_bytes": trace.cache_bytes,
        "cross_bytes": trace.cross_bytes,
        "work_full": work(trace.naive.work),
        "work_cached": work(trace.cached.work),
    }


def step_overview(trace: Trace, cached: Step, full: Step) -> dict[str, Any]:
    return {
        "word": trace.shown(cached.word),
        "probability_cached": cached.probability,
        "probability_full": full.probability,
        "max_abs_diff": float(np.abs(cached.logits - full.logits).max()),
        "positions_cached": cached.work.positions,
        "positions_full": full.work.positions,
        "alternatives": [
            {
                "word": trace.shown(trace.vocabulary[k]),
                "probability": float(cached.probabilities[k]),
            }
            for k in cached.likeliest(N_ALTERNATIVES)
        ],
    }


def work(counted: Work) -> dict[str, int]:
    return vars(counted) | {"scores": counted.scores, "flops": counted.flops}


def everything(trace: Trace) -> dict[str, Any]:
    """Every row of both runs; a masked score, minus infinity, is null."""
    return {
        "vocabulary": list(trace.vocabulary),
        "source": list(trace.source),
        "encoder": plain(trace.encoder),
        "cached": run_rows(trace.cached),
        "full": run_rows(trace.naive),
    }


def run_rows(recorded: Run) -> dict[str, Any]:
    return {"cross": plain(recorded.cross), "steps": plain(recorded.steps)}


def plain(value: Any) -> Any:
    """Turn records and arrays into what JSON has."""
    if isinstance(value, np.ndarray):
        cells = value.astype(object)
        cells[np.isneginf(value)] = None
        return cells.tolist()
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def table(trace: Trace) -> str:
    """Write for a person: what was read, each step, and the totals."""
    reading = trace.reading
    read = " ".join(
        token.typed if token.why == "known" else f"{token.typed} [{token.why}]"
        for token in reading.tokens
    )
    lines = [f"read      {read}"]
    if reading.n_left:
        lines.append(f"not read  {' '.join(reading.left)} ({reading.n_left} words)")
    if reading.n_unread:
        lines.append(f"not read  {reading.n_unread} characters more")
    if reading.n_dropped:
        lines.append(f"dropped   {reading.n_dropped} invisible characters")
    lines += [f"written   {trace.sentence}", "", *steps_table(trace), "", *totals(trace)]
    return "\n".join(lines)


def steps_table(trace: Trace) -> list[str]:
    head = f"{'word':16}{'p, cached':>12}{'p, full':>12}{'difference':>12}{'positions':>14}"
    return [head, *map(step_line, overview(trace)["steps"])]


def step_line(step: dict[str, Any]) -> str:
    probabilities = f"{step['probability_cached']:12.6f}{step['probability_full']:12.6f}"
    positions = f"{step['positions_cached']:6} of {step['positions_full']}"
    return f"{step['word']:16}{probabilities}{step['max_abs_diff']:12.1e}{positions}"


def totals(trace: Trace) -> list[str]:
    cached, full = trace.cached.work, trace.naive.work
    return [
        f"same words {trace.same_words}, largest difference of a logit {trace.max_abs_diff}",
        f"positions computed {cached.positions} with the cache, {full.positions} without",
        f"scores {cached.scores} against {full.scores}, FLOPs {cached.flops} against {full.flops}",
        f"cache {trace.numbers_per_token} numbers a word, {trace.cache_bytes} bytes in all",
        f"source {trace.cross_bytes} bytes, once",
    ]
