"""``kvscroll`` and ``python -m app``: choose a command, say bad input in one line."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from model.errors import BadInput

COMMANDS = {
    "serve": "the page",
    "trace": "one run of the toy, with and without the cache",
    "size": "how large a model's cache is",
    "models": "the catalogue the calculator knows",
    "generate": "write with a real model",
    "bench": "measure this machine",
    "lessons": "what the page teaches",
    "bugs": "what the lab can break",
    "export": "the lessons as a static site",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line, raised rather than printed."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see `{self.prog} --help`)")


def dispatch(words: Sequence[str]) -> int:
    parser = Parser(prog="kvscroll", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparsers.add_parser(name, help=summary, add_help=False)
    chosen = parser.parse_args(list(words[:1])).command

    command = importlib.import_module(f"app.cli.{chosen}")  # torch loads only where it is used
    own = Parser(prog=f"kvscroll {chosen}", description=command.__doc__)
    command.configure(own)
    return command.run(own.parse_args(list(words[1:])))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 on success, 2 on bad input."""
    try:
        return dispatch(sys.argv[1:] if argv is None else argv)
    except BadInput as error:
        line = " ".join(str(error).split())
        print(f"kvscroll: {line}", file=sys.stderr)  # noqa: T201
        return 2
    except BrokenPipeError:  # `kvscroll models | head` is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
