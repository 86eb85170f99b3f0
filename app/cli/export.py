"""Write the lessons as a static site: every page and figure for the first sentence, no server."""

import argparse
from pathlib import Path

from model.errors import BadInput


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--force", action="store_true", help="write over what is there")


def run(args: argparse.Namespace) -> int:
    folder: Path = args.folder
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; name a new or empty folder")
    held = len(list(folder.iterdir())) if folder.exists() else 0
    if held and not args.force:
        raise BadInput(
            f"{folder} already holds {held} files or folders, not 0; choose another, or --force"
        )
    from app.export import export  # noqa: PLC0415 -- loads the toy and every figure

    try:
        written = list(export(folder))
    except OSError as error:
        raise BadInput(f"cannot write to {folder}: {error.strerror}") from error
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(written)} pages, {n_bytes / 1e6:.1f} MB: open {folder / 'index.html'}")
    return 0
