"""Hostile input by the thousand: sentences, forms, addresses, and patches no page would send.

``python -m tests.tools.fuzz --n 10000`` starts a server, sends what it made from a seed, and
counts what must be zero: tracebacks, refusals that are not sentences, changes another reader
could see, and wires lost other than for a message over the size limit. Every wire lost is told
with the input that did it. Memory is told after each quarter: it is flat once the stores that
keep runs are full.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPError

from app.server import MAX_MESSAGE_BYTES
from tests.tools.server import serving
from tests.tools.wire import Wire, WireError

ALPHABETS = (
    (0x20, 0x7E),
    (0x0, 0x1F),
    (0x300, 0x36F),
    (0x590, 0x6FF),
    (0x4E00, 0x9FFF),
    (0x1F300, 0x1FAFF),
    (0x2000, 0x206F),
    (0x20, 0x2FFFF),
)
MARKUP = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=alert(1)>",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "\u202etxt\u202c",
    "'; drop table cats; --",
    "the cat",
)
QUIET_READER = "the black cat sees a white bird"


def sentence(chance: random.Random) -> str:
    low, high = chance.choice(ALPHABETS)
    letters = (chr(chance.randint(low, high)) for _ in range(chance.choice((0, 3, 30, 300, 5000))))
    text = "".join(c for c in letters if not 0xD800 <= ord(c) <= 0xDFFF)
    return text + chance.choice(MARKUP) if chance.random() < 0.4 else text


def junk(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON, now and then shaped like what the wire expects."""
    kinds = ["text", "number", "none", "flag"] + (["list", "map"] if depth < 3 else [])
    kind = chance.choice(kinds)
    if kind == "list":
        return [junk(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    if kind == "map":
        return {sentence(chance)[:8]: junk(chance, depth + 1) for _ in range(chance.randint(0, 4))}
    plain = {"text": sentence(chance)[:200], "none": None, "flag": True}
    return plain.get(kind, chance.choice((0, -1, 1e308, 2**63, 0.5)))


def form(chance: random.Random) -> str:
    keys = ("models", "config", "tokens", "batch", "memory", "k_format", "tensor_parallel")
    filled = {key: junk(chance) for key in keys if chance.random() < 0.5}
    if chance.random() < 0.5:
        filled["models"] = ["Llama 2 7B"]
    return json.dumps(filled)


def patch(chance: random.Random, model: str) -> dict[str, Any]:
    """A document change that no page of ours sends."""
    kind = chance.choice(("ModelChanged", "RootAdded", "RootRemoved", "ColumnDataChanged", "Nope"))
    attr = chance.choice(("reply", "esm", "stylesheets", "ask", "data", sentence(chance)[:20]))
    return {
        "kind": kind,
        "model": {"id": chance.choice((model, "p1", "?"))},
        "attr": attr,
        "new": junk(chance),
    }


MOVES = ("run", "run", "extras", "size", "junk", "patch")
TOO_BIG = 1009  # the code of RFC 6455 for a message over the limit
BIG = "x" * (MAX_MESSAGE_BYTES + 1)
REPLY_WITHIN_S = 120


@dataclass
class Found:
    """What all attackers saw: how often each thing happened, and every wire lost with its cause."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return sum(self.counts[name] for name in {*MOVES, "oversize", "addresses"})


async def attack(url: str, n: int, seed: int, found: Found) -> None:
    """One hostile reader: sentences, forms, junk questions, patches; reconnects when cut off.

    A message over the server's limit must be answered by closing the wire with the code for
    that. A wire lost in any other way is a fault, and is told with the input that did it.
    """
    chance = random.Random(seed)  # noqa: S311 -- reproducible, not secret
    wire = await Wire.open(url)
    for number in range(n):
        move = "oversize" if chance.random() < 0.002 else chance.choice(MOVES)
        made = input_for(move, chance, wire.model)
        found.counts[move] += 1
        try:
            await send(wire, move, made, found.counts)
        except (WireError, TimeoutError) as error:
            code, reason = wire.closed
            if move == "oversize" and code in {TOO_BIG, None}:  # or cut off while still sending
                found.counts["closed for size, as stated"] += 1
            else:
                told = {"seed": seed, "number": number, "move": move, "input": repr(made)[:2000]}
                found.lost.append({**told, "error": repr(error), "code": code, "reason": reason})
            await wire.close()
            wire = await Wire.open(url)
        if chance.random() < 0.05:
            await address(url, chance, found)
    await wire.close()


def input_for(move: str, chance: random.Random, model: str) -> Any:
    if move == "patch":
        return patch(chance, model)
    if move == "junk":
        return junk(chance)
    if move == "oversize":
        return BIG
    return form(chance) if move == "size" else sentence(chance)


async def send(wire: Wire, move: str, made: Any, counts: Counter[str]) -> None:
    if move == "patch":
        await wire.send("PATCH-DOC", {"events": [made]})
    elif move == "junk":
        await wire.patch("ask", made)
    elif move == "oversize":
        await wire.patch("ask", made)
        await asyncio.wait_for(wire.until("nothing"), REPLY_WITHIN_S)
    else:
        reply, _ = await asyncio.wait_for(wire.ask(made, move), REPLY_WITHIN_S)
        if move not in reply and not str(reply.get("message", "")).strip():
            counts["answers without a word"] += 1


async def address(url: str, chance: random.Random, found: Found) -> None:
    path = chance.choice(("/", "/calculator", "/lesson/the-cache-step-by-step", "/gallery", "/no"))
    query = quote(sentence(chance)[:300])
    found.counts["addresses"] += 1
    asked = f"{url}{path}?s={query}&layer={query}"
    try:
        await AsyncHTTPClient(max_clients=100).fetch(asked, request_timeout=REPLY_WITHIN_S)
    except HTTPError as error:
        if error.code >= 500:
            found.refused.append({"address": asked, "error": str(error)})


async def run(n: int, attackers: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        found = Found()
        memory = partial(resident_mb, psutil.Process(server.process.pid))
        quiet = await Wire.open(server.url)
        before, _ = await quiet.ask(QUIET_READER)
        at_rest = memory()
        quarters = []
        for quarter in range(4):
            seeds = (seed + 1 + quarter * attackers + i for i in range(attackers))
            each = max(1, n // attackers // 4)
            await asyncio.gather(*(attack(server.url, each, one, found) for one in seeds))
            quarters.append(memory())
        after, _ = await quiet.ask(QUIET_READER)
        await quiet.close()
        log = server.log.read_text()
        return {
            "inputs": found.inputs,
            **found.counts,
            "wires lost": len(found.lost),
            "lost": found.lost,
            "server errors": len(found.refused),
            "refused": found.refused,
            "tracebacks": log.count("Traceback"),
            "runs that failed": log.count("run failed"),
            "reader_text_in_log": sum(word in log for word in ("pwned", "onerror", "black cat")),
            "other_reader_changed": before["run"] != after["run"],
            "memory_mb_at_rest": at_rest,
            "memory_mb_after_each_quarter": quarters,
        }


def resident_mb(process: psutil.Process) -> float:
    return round(process.memory_info().rss / 1e6, 1)


MUST_BE_ZERO = (
    "wires lost",
    "tracebacks",
    "runs that failed",
    "reader_text_in_log",
    "other_reader_changed",
    "answers without a word",
    "server errors",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--attackers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = asyncio.run(run(args.n, args.attackers, args.seed))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return int(any(found.get(name) for name in MUST_BE_ZERO))


if __name__ == "__main__":
    sys.exit(main())
