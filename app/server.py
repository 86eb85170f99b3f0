"""The server: one Panel app a page, shipped assets, limits, a health address."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("PANEL_CDN_ROOT", "/cdn/")  # before Panel is imported: nothing from outside

import panel as pn
import torch
import tornado.web

from app import guard
from app.assets import asset, bokeh_scripts
from app.pages import build, pages
from app.paths import STATIC
from app.reader import Reader

MAX_MESSAGE_BYTES = 200_000
MAX_SESSIONS = 400
SHELL = (STATIC / "templates" / "panel_page.html").read_text(encoding="utf-8")
PANEL_DIST = Path(pn.__file__).parent / "dist"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen, and which origins may open the live wire."""

    port: int = 5006
    host: str = "localhost"
    origins: tuple[str, ...] = ()
    n_processes: int = 1

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


class Health(tornado.web.RequestHandler):
    """Answers without building a page."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


def view(path: str) -> Callable[[], pn.Template]:
    """A function that makes one reader's page; nothing it makes is shared."""

    def page_of_one_reader() -> pn.Template:
        page = build(path)
        template = pn.Template(SHELL)
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


def make_server(address: Address) -> Any:
    """Build every page once, then a server that has not started."""
    guard.install()
    torch.set_num_threads(1)  # a run is many small sums; threads would only wait for each other
    pn.extension()
    pn.config.reuse_sessions = True
    pn.config.authorize_callback = Sessions().admit
    pn.config.auth_template = STATIC / "templates" / "busy.html"
    for path in pages():
        build(path)
    return pn.io.server.get_server(
        {path: view(path) for path in pages()},
        port=address.port,
        address=None if address.host == "localhost" else address.host,
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
