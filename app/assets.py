"""Addresses of shipped files, each with a mark of its content so that browsers may keep them."""

import hashlib
from functools import cache

import bokeh
import panel as pn

from app.paths import STATIC

BOKEH_SCRIPTS = (  # Panel's own script needs widgets and tables; WebGL and MathJax it does not
    "/static/js/bokeh.min.js",
    "/static/js/bokeh-widgets.min.js",
    "/static/js/bokeh-tables.min.js",
    "/static/extensions/panel/panel.min.js",
)


@cache
def asset(name: str) -> str:
    """``js/page.js`` to ``/assets/js/page.js?v=…``; a missing file is an error at once."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/assets/{name}?v={digest}"


@cache
def bokeh_scripts() -> tuple[str, ...]:
    mark = f"{bokeh.__version__}-{pn.__version__}"
    return tuple(f"{path}?v={mark}" for path in BOKEH_SCRIPTS)
