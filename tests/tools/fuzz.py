"""Hostile input by the thousand: sentences, forms, addresses, and patches no page would send.

``python -m tests.tools.fuzz --n 10000`` starts a server, sends what it made from a seed, and
counts what must be zero: tracebacks, refusals that are not sentences, wires the server broke,
and changes another reader could see. It also prints how memory moved.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPError

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


async def attack(url: str, n: int, seed: int, counts: Counter[str]) -> None:
    """One hostile reader: sentences, forms, junk questions, patches; reconnects when cut off."""
    chance = random.Random(seed)  # noqa: S311 -- reproducible, not secret
    wire = await Wire.open(url)
    for _ in range(n):
        move = chance.choice(("run", "run", "extras", "size", "junk", "patch"))
        counts[move] += 1
        try:
            wire = await one_move(wire, url, move, chance, counts)
        except (WireError, TimeoutError):
            counts["wires lost"] += 1
            wire = await Wire.open(url)
    await wire.close()


async def one_move(
    wire: Wire, url: str, move: str, chance: random.Random, counts: Counter[str]
) -> Wire:
    if move == "patch":
        await wire.send("PATCH-DOC", {"events": [patch(chance, wire.model)]})
    elif move == "junk":
        await wire.patch("ask", junk(chance))
    else:
        text = form(chance) if move == "size" else sentence(chance)
        reply, _ = await asyncio.wait_for(wire.ask(text, move), 60)
        if move not in reply and not str(reply.get("message", "")).strip():
            counts["answers without a word"] += 1
    if chance.random() < 0.05:
        await address(url, chance, counts)
    return wire


async def address(url: str, chance: random.Random, counts: Counter[str]) -> None:
    path = chance.choice(("/", "/calculator", "/lesson/the-cache-step-by-step", "/gallery", "/no"))
    query = quote(sentence(chance)[:300])
    counts["addresses"] += 1
    try:
        await AsyncHTTPClient(max_clients=100).fetch(f"{url}{path}?s={query}&layer={query}")
    except HTTPError as error:
        if error.code >= 500:
            counts["server errors"] += 1


async def run(n: int, attackers: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        counts: Counter[str] = Counter()
        process = psutil.Process(server.process.pid)
        quiet = await Wire.open(server.url)
        before, _ = await quiet.ask(QUIET_READER)
        await attack(server.url, min(n, 300), seed, counts)  # fills the caches runs are kept in
        rest = process.memory_info().rss
        each = n // attackers
        await asyncio.gather(
            *(attack(server.url, each, seed + i + 1, counts) for i in range(attackers))
        )
        after, _ = await quiet.ask(QUIET_READER)
        await quiet.close()
        log = server.log.read_text()
        return {
            "inputs": sum(
                counts[k] for k in ("run", "extras", "size", "junk", "patch", "addresses")
            ),
            **counts,
            "tracebacks": log.count("Traceback"),
            "reader_text_in_log": sum(word in log for word in ("pwned", "onerror", "black cat")),
            "other_reader_changed": before["run"] != after["run"],
            "memory_growth_mb": round((process.memory_info().rss - rest) / 1e6, 1),
        }


MUST_BE_ZERO = (
    "tracebacks",
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
