"""Measure the engine's speed: ours and others in turns, on the same weights and prompt."""

import argparse
import datetime as dt
import platform
import sys
from contextlib import ExitStack
from pathlib import Path as File
from tempfile import TemporaryDirectory
from typing import Any

import torch

from app.paths import CONTENT
from model import measure
from model.engine.bench import Path, Plan, here, our_paths, ratio, take_turns
from model.engine.build import random_checkpoint
from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig, from_hf
from model.engine.devices import choose_device, choose_dtype
from model.engine.elsewhere import to_ctranslate2, to_gguf
from model.engine.elsewhere.worker import PACKAGES, Worker, installed
from model.engine.opponents import Transformers, transformers_model
from model.engine.sources import build, open_checkpoint
from model.errors import BadInput
from model.sizing import catalogue

SEED = 0
TEXTS = CONTENT / "texts"
"""Our own texts, a folder for each kind of text."""
PROMPT = "prose/workshop-log.txt"
TINY = EngineConfig(
    n_layers=4, n_heads=8, n_kv_heads=2, d_head=32, d_model=256, d_ff=704, vocab_size=4096,
    context=4096,
)  # fmt: skip


def speed(args: argparse.Namespace) -> dict[str, Any]:
    """Let every path take its turns; engines in other processes wait meanwhile."""
    plan = Plan(
        context=args.context, new_tokens=args.new_tokens, batch=args.batch, repeats=args.repeats
    )
    device = choose_device(args.device)
    names = dtype_names(args, device)
    checkpoint = checkpoint_of(args, device, choose_dtype(names[0], device))
    plan.check(checkpoint.config)
    with ExitStack() as until_done:
        paths = [
            path
            for name in names
            for path in paths_of(checkpoint, choose_dtype(name, device), device, plan, until_done)
        ]
        bytes_per_s = run(paths, prompt_of(checkpoint, plan).to(device), plan, device)
    return {
        **circumstances(checkpoint.name, device),
        "plan": vars(plan),
        "measured_bytes_per_s": bytes_per_s,
        "rows": [
            {**path.row(plan, bytes_per_s), "tokens_as_ours": as_ours(path, paths)}
            for path in paths
        ],
        "ratio_to_transformers": ratio(paths, "ours", "transformers", names[0]),
        **{
            f"ratios_to_{key}": {name: ratio(paths, "ours", theirs, name) for name in names}
            for key, theirs in OTHERS.items()
        },
        "same_greedy_tokens": {name: same_tokens(paths, name) for name in names},
        "prefill_bfloat16_to_float32": prefill_ratio(paths, "bfloat16", "float32"),
    }


OTHERS = {
    "transformers": "transformers",
    "no_cache": "ours, no cache",
    "llama_cpp": "llama.cpp",
    "ctranslate2": "ctranslate2",
}


def dtype_names(args: argparse.Namespace, device: torch.device) -> list[str]:
    """Return the types that were asked for, or the one that suits the device."""
    return args.dtype or [str(choose_dtype(None, device)).removeprefix("torch.")]


def run(paths: list[Path], prompt: torch.Tensor, plan: Plan, device: torch.device) -> float:
    """Take all turns; return the best memory bandwidth seen between them, in bytes a second."""
    bandwidth = [measured_bandwidth(device)]
    for repeat, path in take_turns(paths, prompt, plan):
        note = f"repeat {repeat} of {plan.repeats}: {path.name}, {path.dtype}"
        remark(note)
        if path is paths[0]:  # the machine may be slowed by others now and free later
            bandwidth.append(measured_bandwidth(device))
    return max(bandwidth)


def prefill_ratio(paths: list[Path], fast: str, slow: str) -> float | None:
    """How many times faster one type reads the prompt than another, both ours; None without both.

    The best turn of each: a prompt is read in one go, which any neighbour on the machine slows.
    """
    found = {
        path.dtype: min(turn.prefill_s for turn in path.turns)
        for path in paths
        if path.name == "ours"
    }
    return found[slow] / found[fast] if found.keys() >= {fast, slow} else None


def as_ours(path: Path, paths: list[Path]) -> int:
    """Count the tokens a path wrote before it first differed from ours in the same type."""
    ours = next(one for one in paths if (one.name, one.dtype) == ("ours", path.dtype))
    pairs = zip(path.tokens, ours.tokens, strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(len(path.tokens), len(ours.tokens))
    )


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
    checkpoint: Checkpoint,
    dtype: torch.dtype,
    device: torch.device,
    plan: Plan,
    until_done: ExitStack,
) -> list[Path]:
    """Ours, and every other engine that is installed and can run these weights."""
    model = build(checkpoint, dtype, device)
    paths = our_paths(model, plan)
    try:
        theirs = transformers_model(checkpoint, dtype, device)
    except (ImportError, BadInput) as error:
        remark(f"without transformers: {error}")
        theirs = None
    if theirs is not None:
        paths += transformers_paths(theirs, plan, paths[0])
    if device.type == "cpu":
        paths += elsewhere_paths(checkpoint, theirs, plan, paths[0], until_done)
    return paths


def transformers_paths(theirs: Any, plan: Plan, ours: Path) -> list[Path]:
    """Both caches of transformers."""
    return [
        Path(
            name=f"transformers, {name}",
            dtype=ours.dtype,
            runner=here(Transformers(theirs, n_static)),
            nbytes_per_step=ours.nbytes_per_step,
            steps=plan.new_tokens,
        )
        for name, n_static in (("DynamicCache", None), ("StaticCache", plan.capacity))
    ]


def elsewhere_paths(
    checkpoint: Checkpoint, theirs: Any, plan: Plan, ours: Path, until_done: ExitStack
) -> list[Path]:
    """Engines in processes of their own, as far as they are installed; says why one is left out."""
    folder = File(until_done.enter_context(TemporaryDirectory()))
    paths = []
    for engine in filter(installed, PACKAGES):
        try:
            file = hand_over(engine, checkpoint, theirs, ours.dtype, folder)
            worker = Worker(
                engine=engine,
                path=str(file),
                dtype=ours.dtype,
                capacity=plan.capacity,
                batch=plan.batch,
                threads=torch.get_num_threads(),
            )
        except (ImportError, BadInput) as error:
            remark(f"without {engine} in {ours.dtype}: {error}")
            continue
        until_done.callback(worker.close)
        paths.append(
            Path(
                name=engine,
                dtype=ours.dtype,
                runner=lambda prompt, steps, own=worker: own.turn(prompt.tolist(), steps),
                nbytes_per_step=ours.nbytes_per_step,
                steps=plan.new_tokens,
            )
        )
    return paths


def hand_over(engine: str, checkpoint: Checkpoint, theirs: Any, dtype: str, folder: File) -> File:
    """Write the weights in the form an engine reads. Raises BadInput where it cannot be."""
    if engine == "llama.cpp":
        to_gguf.write(checkpoint, dtype, folder / "weights.gguf")
        return folder / "weights.gguf"
    if theirs is None:
        raise BadInput("its converter needs transformers")
    to_ctranslate2.write(theirs, dtype, folder / "ctranslate2")
    return folder / "ctranslate2"


def prompt_of(checkpoint: Checkpoint, plan: Plan) -> torch.Tensor:
    """Take the same tokens for everybody: a text where there is a tokenizer, else random ones."""
    if checkpoint.tokenizer is not None:
        ids = checkpoint.tokenizer.encode((TEXTS / PROMPT).read_text(encoding="utf-8"))
        ids *= -(-plan.context // len(ids))
        return torch.tensor([ids[: plan.context]] * plan.batch)
    generator = torch.Generator().manual_seed(SEED)
    shape = (plan.batch, plan.context)
    return torch.randint(0, checkpoint.config.vocab_size, shape, generator=generator)


def same_tokens(paths: list[Path], dtype: str) -> bool:
    """Say whether ours and transformers wrote the same, as far as the shortest of them went."""
    near = [path for path in paths if path.name.startswith(("ours", "transformers"))]
    texts = [path.tokens for path in near if path.dtype == dtype]
    shortest = min(map(len, texts))
    return len({tuple(text[:shortest]) for text in texts}) == 1


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


def remark(text: str) -> None:
    """Tell whoever waits how far it is, beside the answer."""
    sys.stderr.write(f"{text}\n")
