"""The pages as a folder of files that any file host serves, and that opens from a disk.

All pages lie side by side, so that every address in them can be relative. What a page draws of
the first sentence is in the page; only typing another needs the server.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from app import prose
from app.pages import Page, build, pages
from app.paths import BOKEH_SCRIPT, STATIC

SHIPPED = ("css", "figures", "fonts", "images", "js")
SENTENCE_FORM = re.compile(r'<form class="sentence".*?</form>', re.DOTALL)
INNER = re.compile(r'(?P<what>href|src|action)="(?P<path>/[^"#?]*)(?P<rest>[^"]*)"')


def export(folder: Path) -> Iterator[Path]:
    """Write every page and all it needs into ``folder``; yield each page's file when written."""
    folder.mkdir(parents=True, exist_ok=True)
    copy_assets(folder / "assets")
    for path in pages():
        target = folder / file_of(path)
        target.write_text(html_of(build(path)), encoding="utf-8")
        yield target


def file_of(path: str) -> str:
    """Name the file of a page: ``/lesson/the-cache`` is ``lesson-the-cache.html``.

    >>> file_of("/"), file_of("/lesson/the-cache")
    ('index.html', 'lesson-the-cache.html')
    """
    return (path.strip("/").replace("/", "-") or "index") + ".html"


def html_of(page: Page) -> str:
    """Render a page without a server: relative addresses, a line where the sentence box was."""
    return prose.TEMPLATES.get_template("static_page.html").render(
        page=page,
        body=relative(SENTENCE_FORM.sub(_without_server(), page.body)),
        styles=sorted(f"css/{path.name}" for path in (STATIC / "css").glob("*.css")),
        with_charts="js/chart.js" in page.scripts,
    )


def relative(html: str) -> str:
    """Turn addresses from the root into names of files beside this one."""
    return INNER.sub(_beside, html)


def copy_assets(folder: Path) -> None:
    for name in SHIPPED:
        if (STATIC / name).is_dir():
            shutil.copytree(STATIC / name, folder / name, dirs_exist_ok=True)
    shutil.copy(STATIC / "icon.svg", folder)
    shutil.copy(BOKEH_SCRIPT, folder)


def _beside(match: re.Match[str]) -> str:
    path, rest = match["path"], match["rest"]
    if path.startswith("/assets/"):
        return f'{match["what"]}="{path.removeprefix("/")}"'
    return f'{match["what"]}="{file_of(path)}{rest}"'


def _without_server() -> str:
    note = prose.TEMPLATES.get_template("inline.html").module
    return note.without_server()  # pyright: ignore[reportAttributeAccessIssue]
