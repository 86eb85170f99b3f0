"""Measure how a step's time grows: contexts by batches, ours and transformers in turns."""

import argparse
from typing import Any

from app.speed_bench import (
    checkpoint_of,
    circumstances,
    dtype_names,
    measured_bandwidth,
    prompt_of,
    remark,
)
from model.engine.bench import Plan, mean_cache_bytes
from model.engine.checkpoint import Checkpoint
from model.engine.devices import choose_device, choose_dtype
from model.engine.model import LanguageModel
from model.engine.opponents import transformers_model
from model.engine.sources import build
from model.engine.sweep import BATCHES, CONTEXTS, Grid, OursRead, Reader, TransformersRead, row
from model.engine.sweep import sweep as swept
from model.errors import BadInput


def sweep(args: argparse.Namespace) -> dict[str, Any]:
    """Measure every cell that fits, type after type."""
    device = choose_device(args.device)
    names = dtype_names(args, device)
    checkpoint = checkpoint_of(args, device, choose_dtype(names[0], device))
    grid = Grid(
        contexts=tuple(args.contexts or CONTEXTS),
        batches=tuple(args.batches or BATCHES),
        repeats=args.repeats,
    )
    grid.check(checkpoint.config)
    cells: list[tuple[str, float, dict[str, Any]]] = []
    bandwidth = [measured_bandwidth(device)]
    for name in names:
        model = build(checkpoint, choose_dtype(name, device), device)
        prompt = prompt_of(checkpoint, Plan(context=max(grid.contexts))).to(device)
        for cell in swept(readers(checkpoint, model), prompt, grid, needs(model)):
            remark(f"{name}: {cell['context']} tokens x {cell['batch']}, {said(cell)}")
            cells.append((name, read_per_step(model, cell, grid), cell))
        bandwidth.append(measured_bandwidth(device))
    bytes_per_s = max(bandwidth)
    return {
        **circumstances(checkpoint.name, device),
        "grid": vars(grid),
        "measured_bytes_per_s": bytes_per_s,
        "rows": [
            row(cell, name, n_bytes, bytes_per_s) for name, n_bytes, cell in cells if "path" in cell
        ],
        "skipped": [{"dtype": name, **cell} for name, _, cell in cells if "skipped" in cell],
    }


def said(cell: dict[str, Any]) -> str:
    return cell.get("path") or cell["skipped"]


def readers(checkpoint: Checkpoint, model: LanguageModel) -> dict[str, Reader]:
    """Ours, and transformers with both of its caches where it can run these weights."""
    found: dict[str, Reader] = {"ours": OursRead(model)}
    try:
        theirs = transformers_model(checkpoint, model.dtype, model.device)
    except (ImportError, BadInput) as error:
        remark(f"without transformers: {error}")
        return found
    for kind in ("DynamicCache", "StaticCache"):
        found[f"transformers, {kind}"] = TransformersRead(theirs, kind)
    return found


def needs(model: LanguageModel) -> Any:
    """Return what the cache of one path takes, as a function of context and batch."""
    return lambda context, batch: (
        context * batch * model.config.numbers_per_token * model.dtype.itemsize
    )


def read_per_step(model: LanguageModel, cell: dict[str, Any], grid: Grid) -> float:
    """Bytes a step of a cell must read: the weights once, and every sequence's cache."""
    plan = Plan(context=cell["context"], new_tokens=grid.n_steps, batch=cell["batch"])
    return model.nbytes_read_per_step + mean_cache_bytes(model, plan)
