"""The server: one Panel app a page, shipped assets, limits, a health address."""

import atexit
import gc
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("PANEL_CDN_ROOT", "/cdn/")  # before Panel is imported: nothing from outside

import panel as pn
import torch
import tornado.web

from app import delivery, guard
from app.assets import asset, bokeh_scripts
from app.lessons import load_lessons
from app.pages import build, content, navigation, pages
from app.paths import STATIC
from app.reader import Reader

MAX_MESSAGE_BYTES = 200_000
MAX_SESSIONS = 400
PANEL_DIST = Path(pn.__file__).parent / "dist"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen, and which origins may open the live wire."""

    port: int = 5006
    host: str = "localhost"
    origins: tuple[str, ...] = ()
    n_processes: int = 1
    reread: bool = False  # content and scripts anew at every page load: for authors

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@cache
def shell() -> str:
    """The frame that Panel renders a page in."""
    return (STATIC / "templates" / "panel_page.html").read_text(encoding="utf-8")


def forget() -> None:
    """Drop what was read from disk, so that the next page shows what an author just saved."""
    for kept in (shell, asset, load_lessons, pages, navigation, content):
        kept.cache_clear()


class Health(tornado.web.RequestHandler):
    """Answers without building a page."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


def view(path: str, *, reread: bool = False) -> Callable[[], pn.Template]:
    """A function that makes one reader's page; nothing it makes is shared."""

    def page_of_one_reader() -> pn.Template:
        if reread:
            forget()
        page = build(path)
        template = pn.Template(shell())
        template.add_variable("page_title", f"{page.title} · kvscroll")
        template.add_variable("page_description", page.description)
        template.add_variable("page_body", page.body)
        template.add_variable("page_scripts", page.scripts)
        template.add_variable("bokeh_scripts", bokeh_scripts())
        template.add_variable("asset", asset)
        template.add_panel("reader", Reader())
        return template

    return page_of_one_reader


class Sessions:
    """How many readers this process holds; past the limit a reader is told to come back."""

    def __init__(self, limit: int = MAX_SESSIONS) -> None:
        self.limit = limit
        self.live: set[str] = set()
        pn.state.on_session_created(lambda context: self.live.add(context.id))
        pn.state.on_session_destroyed(lambda context: self.live.discard(context.id))

    def admit(self, *_: Any) -> bool:
        return len(self.live) < self.limit


def build_behind(paths: list[str]) -> None:
    """Build pages in a thread; a process that ends waits for the page under way, no longer."""
    ending = threading.Event()

    def build_all() -> None:
        for path in paths:
            if ending.is_set():
                return
            build(path)

    builder = threading.Thread(target=build_all, daemon=True)
    builder.start()
    atexit.register(builder.join)
    atexit.register(ending.set)  # the last registered is the first called


def prepare(paths: list[str], *, at_once: bool) -> None:
    """Build the first pages now and the rest behind the reader's back; all now before a fork."""
    first = paths if at_once else paths[:2]
    for path in first:
        build(path)
    if not at_once:
        build_behind(paths)


def make_server(address: Address) -> Any:
    """Build the first pages, then a server that has not started."""
    guard.install()
    delivery.install()
    torch.set_num_threads(1)  # a run is many small sums; threads would only wait for each other
    pn.extension()
    pn.config.reuse_sessions = not address.reread
    pn.config.authorize_callback = Sessions().admit
    pn.config.auth_template = STATIC / "templates" / "busy.html"
    gc.freeze()  # what stays for good is not searched again: a pause would fall into a reply
    prepare(list(pages()), at_once=address.n_processes > 1)
    return pn.io.server.get_server(
        {path: view(path, reread=address.reread) for path in pages()},
        port=address.port,
        address=address.host,
        allow_websocket_origin=_origins(address),
        static_dirs={"/assets": str(STATIC), f"/cdn/{pn.__version__}/dist": str(PANEL_DIST)},
        extra_patterns=[(r"/health", Health)],
        websocket_max_message_size=MAX_MESSAGE_BYTES,
        num_procs=address.n_processes,
        secret_key=os.environ.get("KVSCROLL_SECRET") or secrets.token_hex(32),
        sign_sessions=True,
        compress_response=True,
        location=False,
        show=False,
        start=False,
    )


def _origins(address: Address) -> list[str]:
    own = {f"{host}:{address.port}" for host in ("localhost", "127.0.0.1", address.host)}
    return sorted(own | set(address.origins))
