"""Measure decoding on this machine: ours and transformers in turns, on the same weights."""

import argparse
import datetime as dt
import importlib
import json
import platform
import sys
from typing import Any

import torch

from app.paths import CONTENT
from model import measure
from model.engine.bench import Path, Plan, our_paths, ratio, take_turns
from model.engine.build import random_checkpoint
from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig, from_hf
from model.engine.devices import DEVICES, DTYPES, choose_device, choose_dtype
from model.engine.opponents import Transformers, transformers_model
from model.engine.perplexity import Quality
from model.engine.perplexity import measure as measure_quality
from model.engine.sources import build, load_once, open_checkpoint
from model.errors import BadInput
from model.sizing import catalogue

SEED = 0
TEXTS = CONTENT / "texts"
TINY = EngineConfig(
    n_layers=4, n_heads=8, n_kv_heads=2, d_head=32, d_model=256, d_ff=704, vocab_size=4096,
    context=4096,
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--page", action="store_true", help="measure the page instead")
    kind.add_argument("--quality", action="store_true", help="measure perplexity of small caches")
    parser.add_argument("--model", default="smollm2", help="smollm2, a GGUF file or a model folder")
    parser.add_argument("--random", metavar="SHAPE", help="random weights: tiny, or a known model")
    parser.add_argument("--device", choices=DEVICES)
    parser.add_argument("--dtype", choices=DTYPES, action="append", help="repeat for several")
    parser.add_argument("--context", type=int, default=128, metavar="N", help="prompt tokens")
    parser.add_argument("--new-tokens", type=int, default=128, metavar="N")
    parser.add_argument("--batch", type=int, default=1, metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="of the processor")
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
    answer = quality(args) if args.quality else speed(args)
    print(json.dumps(answer, indent=1) if args.json else table(answer["rows"]))
    if not args.json and "ratio_to_transformers" in answer:
        print(verdict(answer))
    return 0


def speed(args: argparse.Namespace) -> dict[str, Any]:
    """Let every path take its turns."""
    plan = Plan(
        context=args.context, new_tokens=args.new_tokens, batch=args.batch, repeats=args.repeats
    )
    device = choose_device(args.device)
    names = args.dtype or [str(choose_dtype(None, device)).removeprefix("torch.")]
    checkpoint = checkpoint_of(args, device, choose_dtype(names[0], device))
    plan.check(checkpoint.config)
    bandwidth = [measured_bandwidth(device)]
    paths = [
        path
        for name in names
        for path in paths_of(checkpoint, choose_dtype(name, device), device, plan)
    ]
    prompt = prompt_of(checkpoint, plan).to(device)
    for repeat, path in take_turns(paths, prompt, plan):
        note = f"repeat {repeat} of {plan.repeats}: {path.name}, {path.dtype}"
        print(note, file=sys.stderr)
        if path is paths[0]:  # the machine may be slowed by others now and free later
            bandwidth.append(measured_bandwidth(device))
    bytes_per_s = max(bandwidth)
    ratios = {name: ratio(paths, "ours", "transformers", name) for name in names}
    return {
        **circumstances(checkpoint.name, device),
        "plan": vars(plan),
        "measured_bytes_per_s": bytes_per_s,
        "rows": [path.row(plan, bytes_per_s) for path in paths],
        "ratio_to_transformers": ratios[names[0]],
        "ratios_to_transformers": ratios,
        "ratios_to_no_cache": {n: ratio(paths, "ours", "ours, no cache", n) for n in names},
        "same_greedy_tokens": {name: same_tokens(paths, name) for name in names},
    }


def measured_bandwidth(device: torch.device) -> float:
    """Time reading and copying memory, and take the faster."""
    machine = measure.measure(measure.Plan(device=str(device), dtypes=()))
    return max(machine.read_bytes_per_s, machine.copy_bytes_per_s)


def checkpoint_of(args: argparse.Namespace, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    """Open the weights, or make some up in a known shape."""
    if args.random is None:
        return open_checkpoint(args.model)
    config = TINY if args.random == "tiny" else from_hf(catalogue.find(args.random).config)
    return random_checkpoint(config, SEED, device=device, dtype=dtype)


def paths_of(
    checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device, plan: Plan
) -> list[Path]:
    """Ours, and transformers with both of its caches where it is installed and can run it."""
    model = build(checkpoint, dtype, device, torch.get_num_threads())
    paths = our_paths(model, plan)
    try:
        theirs = transformers_model(checkpoint, dtype, device)
    except (ImportError, BadInput) as error:
        print(f"without transformers: {error}", file=sys.stderr)
        return paths
    for name, n_static in (("DynamicCache", None), ("StaticCache", plan.capacity)):
        paths.append(
            Path(
                name=f"transformers, {name}",
                dtype=paths[0].dtype,
                decoder=Transformers(theirs, n_static),
                nbytes_per_step=paths[0].nbytes_per_step,
                steps=plan.new_tokens,
            )
        )
    return paths


def prompt_of(checkpoint: Checkpoint, plan: Plan) -> torch.Tensor:
    """Take the same tokens for everybody: a text where there is a tokenizer, else random ones."""
    if checkpoint.tokenizer is not None:
        ids = checkpoint.tokenizer.encode(read_text("workshop-log"))
        ids *= -(-plan.context // len(ids))
        return torch.tensor([ids[: plan.context]] * plan.batch)
    generator = torch.Generator().manual_seed(SEED)
    shape = (plan.batch, plan.context)
    return torch.randint(0, checkpoint.config.vocab_size, shape, generator=generator)


def same_tokens(paths: list[Path], dtype: str) -> bool:
    """Say whether all paths of a type wrote the same, as far as the shortest of them went."""
    texts = [path.tokens for path in paths if path.dtype == dtype]
    shortest = min(map(len, texts))
    return len({tuple(text[:shortest]) for text in texts}) == 1


def quality(args: argparse.Namespace) -> dict[str, Any]:
    """Measure every window and format on every text of ours."""
    device = choose_device(args.device)
    dtype = choose_dtype(args.dtype[0] if args.dtype else "float32", device)
    loaded = load_once(args.model, dtype, device)
    if loaded.tokenizer is None:
        message = f"{loaded.name} has no tokenizer.json: a text cannot be turned into tokens"
        raise BadInput(message)
    rows = []
    for path in sorted(TEXTS.glob("*.txt")):
        tokens = loaded.tokenizer.encode(path.read_text(encoding="utf-8"))
        for found in measure_quality(loaded.model, tokens):
            rows.append(quality_row(path.stem, len(tokens), found))
            print(rows[-1], file=sys.stderr)
    return {**circumstances(loaded.name, device), "dtype": str(dtype).split(".")[1], "rows": rows}


def quality_row(text: str, n_tokens: int, found: Quality) -> dict[str, Any]:
    """Flatten one result."""
    values = {name: value for name, value in found._asdict().items() if name != "case"}
    relative = found.perplexity / found.full_perplexity
    return {"text": text, "tokens": n_tokens, **vars(found.case), **values, "ratio": relative}


def circumstances(name: str, device: torch.device) -> dict[str, Any]:
    """State what a number without its machine and date does not."""
    return {
        "command": " ".join(["kvscroll", *sys.argv[1:]]),
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "model": name,
        "device": str(device) if device.type != "cuda" else torch.cuda.get_device_name(device),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "torch": str(torch.__version__),
    }


def processor() -> str:
    """Name the processor and the widest vector instructions torch uses on it."""
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def read_text(name: str) -> str:
    """Read a text of ours."""
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> str:
    """Set rows in columns."""
    columns = [name for name in rows[0] if name != "decode_ms_of_each_repeat"]
    cells = [columns, *([shown(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def verdict(answer: dict[str, Any]) -> str:
    """Say the ratios in words."""
    lines = [
        f"{dtype}: {shown(found)} times transformers' best"
        for dtype, found in answer["ratios_to_transformers"].items()
        if found is not None
    ]
    lines += [
        f"{dtype}: {shown(found)} times itself without a cache"
        for dtype, found in answer["ratios_to_no_cache"].items()
    ]
    return "\n".join(lines)
