"""Serve the page. Prints the address and one line on what this machine has."""

import argparse
import signal

from model.errors import BadInput

MAX_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=5006)
    parser.add_argument("--address", default="localhost", help="the interface to listen on")
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="HOST:PORT", dest="origins"
    )
    parser.add_argument("--num-procs", type=int, default=1, help="processes (needs sticky routing)")
    parser.add_argument("--device", choices=["cpu", "cuda", "mps"], help="where a real model runs")
    parser.add_argument("--dev", action="store_true", help="reload content and scripts on change")


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.port <= MAX_PORT:
        raise BadInput(f"--port {args.port} is not a port; choose one between 1 and {MAX_PORT}")
    if args.num_procs < 1:
        raise BadInput(f"--num-procs {args.num_procs} is too few; at least 1 process serves")
    from app import logs  # noqa: PLC0415
    from app.real_model import DEVICE  # noqa: PLC0415
    from app.server import Address, make_server  # noqa: PLC0415 -- loads Panel and the toy

    address = Address(
        port=args.port,
        host=args.address,
        origins=tuple(args.origins),
        n_processes=args.num_procs,
        reread=args.dev,
    )
    DEVICE.set(args.device)
    found = _found(args.device)
    log = logs.start()
    try:
        server = make_server(address)
    except OSError as error:
        raise BadInput(
            f"cannot listen on {args.address}:{args.port} ({error.strerror}); choose another --port"
        ) from error
    print(f"kvscroll is at {address.url}   (Ctrl-C stops it)", flush=True)
    print(found, flush=True)
    log.info("started")
    _serve_until_stopped(server)
    log.info("stopped")
    return 0


def _found(device: str | None) -> str:
    """One line: the processor in use, and whether a real model is here."""
    from app.real_model import HOW_TO_GET_IT, installed  # noqa: PLC0415
    from model.engine.devices import choose_device  # noqa: PLC0415

    chosen = choose_device(device)
    model = "SmolLM2-135M is installed" if installed() else f"no real model ({HOW_TO_GET_IT})"
    return f"running on {chosen}; {model}"


def _serve_until_stopped(server) -> None:  # noqa: ANN001 -- Bokeh's Server has no public type
    def stop(*_: object) -> None:
        server.io_loop.add_callback_from_signal(server.io_loop.stop)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    server.start()
    server.io_loop.start()
    server.stop()
