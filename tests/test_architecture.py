"""Rules about the code itself that no linter knows."""

import ast
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.__main__ import COMMANDS
from app.paths import CONTENT, ROOT, STATIC

SOURCES = sorted(
    path for part in ("app", "figures", "model") for path in (ROOT / part).rglob("*.py")
)
SCRIPTS = sorted(STATIC.rglob("*.js"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES, MOST_LINES_A_FUNCTION = 300, 40

MARKUP = re.compile(
    r"</?(div|span|p|a|script|style|h[1-6]|button|table|tr|td|svg|html|body|img|b|i)[\s>/]"
)
INTO_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
)
HERE = {str(ROOT), str(Path.home()), tempfile.gettempdir()} - {"/"}
OTHER_MACHINES = re.compile(
    "|".join(rf"{re.escape(folder)}\b" for folder in sorted(HERE))
    + r"|https?://(?!localhost)[^\s\"')]*\.(js|css|woff2)\b"
)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_source = pytest.mark.parametrize("path", SOURCES, ids=named)
every_script = pytest.mark.parametrize("path", SCRIPTS, ids=named)


def test_dependencies_point_one_way():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("figures", "torch"),
        ("figures", "panel"),
        ("model", "torch"),
        ("model.toy.trace", "torch"),
        ("model.counts", "torch"),
        ("app.__main__", "torch"),
        ("app.__main__", "panel"),
        ("app.lessons", "panel"),
    ],
)
def test_importing_one_does_not_load_the_other(imported: str, absent: str):
    probe = f"import sys, {imported}; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS], ids=named)
def test_a_file_fits_on_a_few_screens(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@every_source
def test_a_function_fits_on_one_screen(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert lines <= MOST_LINES_A_FUNCTION, f"{node.name}: {lines} lines"


@every_source
def test_python_holds_no_markup(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not MARKUP.search(node.value), node.value


@every_source
def test_a_file_says_in_its_first_line_what_it_is(path: Path):
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert told, path
    assert told.splitlines()[0].strip()


@every_script
def test_what_is_typed_never_becomes_markup(path: Path):
    """Text reaches the page through textContent alone, so there is nothing to escape."""
    assert INTO_MARKUP.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "path",
    [*SOURCES, *SCRIPTS, *sorted(STATIC.rglob("*.html")), *sorted(STATIC.rglob("*.css"))],
    ids=named,
)
def test_nothing_points_outside_the_project(path: Path):
    assert OTHER_MACHINES.search(path.read_text(encoding="utf-8")) is None


def test_content_and_static_hold_no_python():
    assert [named(p) for part in (CONTENT, STATIC) for p in part.rglob("*.py")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name: str):
    command = importlib.import_module(f"app.cli.{name}")
    assert (command.__doc__ or "").strip()
    assert callable(command.configure)
    assert callable(command.run)


def test_the_readme_names_only_what_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)) <= verbs
    assert set(re.findall(r"`(?:kvscroll|python -m app) ([a-z]+)", README)) <= set(COMMANDS)
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    for path in re.findall(r"`((?:model|figures|app|content|static|\.github)/[\w./-]+)`", README):
        assert (ROOT / path).exists(), path
