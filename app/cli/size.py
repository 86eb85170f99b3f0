"""How large a model's cache is: exact bytes, layer by layer, with the arithmetic shown.

Name a model of the catalogue (`kvscroll size llama-2-7b --tokens 4096`) or give a config.json,
a GGUF or a safetensors file (`--config FILE`; `-` reads a config from standard input).
"""

import argparse
import json
import sys
from pathlib import Path

from model.errors import BadInput
from model.sizing import catalogue, formula
from model.sizing.fit import Fit, fit
from model.sizing.formats import FORMATS
from model.sizing.headers.files import read_file
from model.sizing.layers import Model
from model.sizing.pasted import MAX_BYTES, parse_object
from model.sizing.question import ENGINES, MAX_SEQUENCES, MAX_TOKENS, Question
from model.sizing.read_config import read_config
from model.sizing.report import Views, as_dict, fit_dict, views
from model.sizing.size import Answer, size
from model.sizing.units import both, parse_bytes, parse_count


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", help="a model of the catalogue, leniently matched")
    parser.add_argument("--config", metavar="FILE", help="a config.json, .gguf or .safetensors")
    parser.add_argument("--as", dest="treat_as", default="", metavar="TYPE", help="read as TYPE")
    parser.add_argument("--tokens", default="4096", metavar="N", help="tokens cached (4096)")
    parser.add_argument("--batch", default="1", metavar="N", help="sequences (1)")
    parser.add_argument("--beams", default="1", metavar="N", help="beams a sequence (1)")
    parser.add_argument("--encoder-tokens", metavar="N", help="source length of encoder-decoders")
    parser.add_argument("--shared-prefix", default="0", metavar="N", help="tokens kept once (0)")
    parser.add_argument("--format", metavar="F", help=f"of keys and values: {', '.join(FORMATS)}")
    parser.add_argument("--k-format", metavar="F", help="of keys (auto: the model's own, or bf16)")
    parser.add_argument("--v-format", metavar="F", help="of values (auto)")
    parser.add_argument("--index-format", default="auto", metavar="F", help="of indexer keys")
    parser.add_argument("--state-format", default="auto", metavar="F", help="of recurrent states")
    parser.add_argument("--weight-format", default="auto", metavar="F", help="of weights (auto)")
    parser.add_argument("--tp", default="1", metavar="N", help="tensor-parallel GPUs (1)")
    parser.add_argument("--block-size", default="1", metavar="N", help="round rows up to (1)")
    parser.add_argument("--prefill-batch", metavar="N", help="tokens an engine reads at once")
    parser.add_argument("--engine", default="ideal", metavar="E", help=", ".join(ENGINES))
    parser.add_argument("--memory", metavar="24GiB", help="say what fits in so much, each GPU")
    parser.add_argument("--json", action="store_true", help="print JSON alone")


def run(args: argparse.Namespace) -> int:
    model = chosen_model(args)
    question = asked(args)
    answer = size(model, question)
    room = fit(model, question, parse_bytes(args.memory)) if args.memory else None
    if args.json:
        found = as_dict(answer)
        if room is not None:
            found["fit"] = fit_dict(room)
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(answer, room)
    return 0


def chosen_model(args: argparse.Namespace) -> Model:
    """The catalogue's model, or the one a file describes."""
    if (args.model is None) == (args.config is None):
        raise BadInput("name one model, or give --config FILE: not both, not neither")
    if args.model is not None:
        return catalogue.load(args.model)
    if args.config == "-":
        config = parse_object(sys.stdin.buffer.read(MAX_BYTES + 1))
        return read_config(config, treat_as=args.treat_as)
    return read_file(Path(args.config), treat_as=args.treat_as)


def asked(args: argparse.Namespace) -> Question:
    encoder = args.encoder_tokens
    return Question(
        tokens=parse_count(args.tokens, "--tokens", least=0, most=MAX_TOKENS),
        batch=parse_count(args.batch, "--batch", most=MAX_SEQUENCES),
        beams=parse_count(args.beams, "--beams", most=1024),
        encoder_tokens=None
        if encoder is None
        else parse_count(encoder, "--encoder-tokens", least=0, most=MAX_TOKENS),
        shared_prefix=parse_count(args.shared_prefix, "--shared-prefix", least=0, most=MAX_TOKENS),
        k_format=args.k_format or args.format or "auto",
        v_format=args.v_format or args.format or "auto",
        index_format=args.index_format,
        state_format=args.state_format,
        weight_format=args.weight_format,
        tensor_parallel=parse_count(args.tp, "--tp", most=4096),
        block_size=parse_count(args.block_size, "--block-size", most=65_536),
        prefill_batch=None
        if args.prefill_batch is None
        else parse_count(args.prefill_batch, "--prefill-batch", most=1_000_000),
        engine=args.engine,
    )


def show(answer: Answer, room: Fit | None) -> None:
    """The answer for a reader: totals, the arithmetic, engines, what was assumed."""
    question, model = answer.question, answer.model
    seen = views(model, question)
    sequences = f"{question.n_sequences:,} sequence{'s' if question.n_sequences > 1 else ''}"
    print(f"{model.name}: {question.tokens:,} tokens, {sequences}, {question.engine}")
    print(f"  cache    {answer.cache_bytes:,} B = {both(answer.cache_bytes)}")
    if question.tensor_parallel > 1:
        each = answer.bytes_per_gpu
        print(f"  per GPU  {each:,} B = {both(each)}, {question.tensor_parallel} GPUs")
    print(f"  a token  {per_token(answer)}")
    if answer.fixed_bytes:
        print(f"  fixed    {answer.fixed_bytes:,} B = {both(answer.fixed_bytes)}")
    if answer.weight_bytes is not None:
        print(f"  weights  {weights(answer)}")
    print("  layers")
    for line in formula.lines(answer):
        print(f"    {line.text}")
    print(f"    total {formula.total_line(answer)}")
    show_views(seen)
    if room is not None:
        show_room(answer, room)
    for title, notes in (("assumed", answer.assumed), ("warning", answer.warnings)):
        for note in notes:
            print(f"  {title}: {note}")
    if model.source:
        print(f"  source: {model.source}")


def show_views(seen: Views) -> None:
    print("  as allocated by")
    for name, engine in ENGINES.items():
        if name in seen.not_in_engine:
            print(f"    {name:<15} {seen.not_in_engine[name]}")
            continue
        n_bytes = seen.n_bytes[name]
        print(f"    {name:<15} {n_bytes:>20,} B  {both(n_bytes)}  ({engine.note})")


def per_token(answer: Answer) -> str:
    """One slope where there is one, both where windows fill."""
    first, later = float(answer.bytes_per_token_first), float(answer.bytes_per_token_marginal)
    text = f"{first:,.10g} B ({both(first)})"
    return text if first == later else f"{text}, {later:,.10g} B once windows are full"


def weights(answer: Answer) -> str:
    n_bytes = answer.weight_bytes or 0
    ratio = answer.cache_bytes / n_bytes if n_bytes else 0
    count = answer.model.parameters
    shown = f"{count:,} parameters, " if count is not None else ""
    return (
        f"{shown}{n_bytes:,} B = {both(n_bytes)} ({answer.question.weight_format}); "
        f"the cache is {ratio:.3g} times that"
    )


def show_room(answer: Answer, room: Fit) -> None:
    question = answer.question
    tokens = "any number of" if room.tokens is None else f"{room.tokens:,}"
    print(f"  in {both(room.memory_bytes)}, {both(room.free_bytes)} beside the weights:")
    print(f"    {room.sequences:,} sequences of {question.tokens:,} tokens")
    print(f"    {tokens} tokens in {question.batch:,} sequence(s)")
    if room.note:
        print(f"    {room.note}")
