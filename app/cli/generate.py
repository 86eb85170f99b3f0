"""Write with a real model, here: stream the text, then tokens a second and the cache's bytes."""

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator

from model.engine.devices import DEVICES, DTYPES, check_fits, choose_device, choose_dtype
from model.engine.drafting import prompt_lookup
from model.engine.events import Event, Finished, Written
from model.engine.generate import Options, generate
from model.engine.keeping import AS_COMPUTED, FORMATS, Keeping
from model.engine.session import Forgetful, Remembering, Session, room_of
from model.engine.sources import Loaded, load_once
from model.errors import BadInput
from model.sampling import Sampling

MIB = 1024**2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("prompt", help="the text to continue")
    parser.add_argument("--model", default="smollm2", help="smollm2, a GGUF file or a model folder")
    parser.add_argument("--max-tokens", type=int, default=128, metavar="N")
    parser.add_argument("--chat", action="store_true", help="ask as a user would, in a chat")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    cache = parser.add_argument_group("the cache")
    cache.add_argument("--no-cache", action="store_true", help="compute every token anew")
    cache.add_argument("--window", type=int, metavar="W", help="keep the newest W tokens")
    cache.add_argument("--sinks", type=int, default=0, metavar="S", help="and the first S")
    cache.add_argument("--k-format", default=AS_COMPUTED, choices=FORMATS, metavar="FORMAT")
    cache.add_argument(
        "--v-format", default=AS_COMPUTED, choices=FORMATS, help=f"one of {', '.join(FORMATS)}"
    )
    choice = parser.add_argument_group("choosing words")
    choice.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default)")
    choice.add_argument("--top-k", type=int, metavar="K")
    choice.add_argument("--top-p", type=float, default=1.0, metavar="P")
    choice.add_argument("--min-p", type=float, default=0.0, metavar="P")
    choice.add_argument("--seed", type=int, default=0)
    choice.add_argument(
        "--speculate", type=int, default=0, metavar="N", help="guess N tokens from the text itself"
    )
    machine = parser.add_argument_group("the machine")
    machine.add_argument("--device", choices=DEVICES)
    machine.add_argument("--dtype", choices=DTYPES)


def run(args: argparse.Namespace) -> int:
    """Write, and give an account."""
    keeping = keeping_of(args)
    options = options_of(args)
    device = choose_device(args.device)
    loaded = load_once(args.model, choose_dtype(args.dtype, device), device)
    if loaded.tokenizer is None:
        message = f"{loaded.name} has no tokenizer.json: text cannot be turned into tokens"
        raise BadInput(message)
    encode = loaded.tokenizer.encode_chat if args.chat else loaded.tokenizer.encode
    prompt = encode(args.prompt)
    eos = loaded.model.config.eos
    drafter = prompt_lookup(loaded.model.config.vocab_size) if args.speculate else None
    options = dataclasses.replace(options, eos=eos, drafter=drafter)
    session = session_of(args, loaded, keeping, len(prompt))
    events = generate(session, prompt, options, loaded.tokenizer)
    return report_json(events, loaded) if args.json else report(events, loaded)


def keeping_of(args: argparse.Namespace) -> Keeping:
    """Read what to keep. Raises BadInput for what does not go together."""
    formats = {args.k_format, args.v_format}
    if args.no_cache and (args.window or args.sinks or formats != {AS_COMPUTED}):
        message = "--no-cache keeps nothing: leave out --window, --sinks and the formats"
        raise BadInput(message)
    if args.speculate < 0:
        message = f"--speculate {args.speculate}: guess at least 1 token, or leave it out"
        raise BadInput(message)
    return Keeping(
        window=args.window,
        sinks=args.sinks,
        k_format=args.k_format,
        v_format=args.v_format,
        spare=args.speculate if args.window else 0,
    )


def options_of(args: argparse.Namespace) -> Options:
    """Read how to write."""
    sampling = Sampling(
        temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, min_p=args.min_p
    )
    return Options(
        max_tokens=args.max_tokens,
        sampling=sampling,
        seed=args.seed,
        n_drafts=args.speculate or 1,
    )


def session_of(
    args: argparse.Namespace, loaded: Loaded, keeping: Keeping, n_prompt: int
) -> Session:
    """Begin an empty session with room for all that may come."""
    if args.no_cache:
        return Forgetful(loaded.model)
    capacity = n_prompt + args.max_tokens
    room = room_of(loaded.model, min(capacity, loaded.model.config.context))
    n_bytes = len(loaded.model.layers) * room.numbers_per_token * room.capacity
    check_fits(n_bytes * room.dtype.itemsize, loaded.model.device, "the cache's rows")
    return Remembering(loaded.model, max(capacity, 1), keeping=keeping)


def report(events: Iterator[Event], loaded: Loaded) -> int:
    """Print the text as it comes, then one line of figures."""
    with contextlib.suppress(KeyboardInterrupt):
        for event in events:
            if isinstance(event, Written):
                print(event.text, end="", flush=True)
            elif isinstance(event, Finished):
                print(f"\n\n{account(event, loaded)}")
        return 0
    print("\n(stopped)", file=sys.stderr)
    return 0


def account(done: Finished, loaded: Loaded) -> str:
    """Say how fast it was and what the cache took."""
    pace = done.decode_ms_per_token
    speed = "" if pace is None else f"{1e3 / pace:.1f} tokens/s ({pace:.1f} ms a token), "
    return (
        f"{done.n_new} tokens in {done.n_passes + 1} passes, {speed}"
        f"prompt of {done.n_prompt} at {done.prefill_tokens_per_s:.0f} tokens/s; "
        f"cache {done.nbytes:,} bytes reserved, {done.nbytes_held:,} in use "
        f"({done.nbytes_held / MIB:.2f} MiB); {loaded.model.device}, "
        f"{str(loaded.model.dtype).removeprefix('torch.')}; ended by {done.reason}"
    )


def report_json(events: Iterator[Event], loaded: Loaded) -> int:
    """Print one object with the text, the tokens and the account."""
    seen = list(events)
    done = next(event for event in seen if isinstance(event, Finished))
    tokens = [event.token for event in seen if isinstance(event, Written)]
    answer = {
        "model": loaded.name,
        "device": str(loaded.model.device),
        "dtype": str(loaded.model.dtype).removeprefix("torch."),
        "text": done.text,
        "tokens": tokens,
        "reason": done.reason,
        "prompt_tokens": done.n_prompt,
        "new_tokens": done.n_new,
        "passes": done.n_passes + 1,
        "prefill_tokens_per_s": done.prefill_tokens_per_s,
        "decode_ms_per_token": done.decode_ms_per_token,
        "cache_bytes_reserved": done.nbytes,
        "cache_bytes": done.nbytes_held,
        "load_seconds": loaded.seconds,
    }
    print(json.dumps(answer))
    return 0
