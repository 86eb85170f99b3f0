"""Markdown to HTML: MathML, ``{{ facts }}``, ``{{ live.numbers }}``, ``[[terms]]``."""

import re
from collections.abc import Mapping
from functools import cache
from html import escape, unescape

import math_core
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from app.glossary import meaning, slugify
from app.paths import STATIC
from model.facts import fact

QUOTE = re.compile(r"\{\{\s*(?P<name>[a-z0-9.-]+)\s*\}\}")
TERM = re.compile(r"\[\[(?P<text>[^\]|]+)(?:\|(?P<slug>[a-z0-9-]+))?\]\]")

TEMPLATES = Environment(
    loader=FileSystemLoader(STATIC / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


SMALL, LARGE = 0.01, 1000
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PERCENT = re.compile(r"(?<=\d)[ \u202f]?%(?![\w-])")


def short(number: float | str) -> str:
    """A measured number as a table shows it: counts whole, small differences as powers of ten."""
    if isinstance(number, str):
        return number
    if isinstance(number, int):
        return f"{number:,}"
    if 0 < abs(number) < SMALL:
        mantissa, _, exponent = f"{number:.1e}".partition("e")
        shown = f"{mantissa} · 10{str(int(exponent)).translate(RAISED)}"
    else:
        shown = f"{number:.3g}" if abs(number) < LARGE else f"{number:,.0f}"
    return shown.replace("-", "−")


TEMPLATES.filters["short"] = short

# Bokeh's JSON names a model where it first stands: its order must survive.
TEMPLATES.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}


@cache
def _markdown() -> MarkdownIt:
    converter = math_core.LatexToMathML()

    def to_mathml(tex: str, options: dict[str, bool]) -> str:
        return converter.convert_with_local_state(tex, displaystyle=options["display_mode"])

    return (
        MarkdownIt("commonmark")
        .enable("table")
        .use(dollarmath_plugin, double_inline=True, renderer=to_mathml)
    )


@cache
def _inline_macros() -> object:
    return TEMPLATES.get_template("inline.html").module


def render(text: str) -> str:
    """HTML of one piece of Markdown, every quoted number in place.

    ``{{ name }}`` is a fact of ``model.facts``; ``{{ live.name }}`` a number of the reader's own
    run, which the page fills in and keeps current; ``[[term]]`` links to the glossary.
    """
    return _filled(_markdown().render(text))


def render_inline(text: str) -> str:
    """Render the same without a paragraph around it."""
    return _filled(_markdown().renderInline(text))


def _filled(html: str) -> str:
    html = QUOTE.sub(lambda match: _quote(match["name"]), html)
    return PERCENT.sub("\N{NARROW NO-BREAK SPACE}%", TERM.sub(_term, html))


LIVE = re.compile(r'(data-live="(?P<name>[a-z0-9-]+)"[^>]*>)…')


def with_live(html: str, live: Mapping[str, Mapping[str, str]]) -> str:
    """The page's live numbers as they are for one run: what is read before a script has run."""
    return LIVE.sub(lambda match: match[1] + escape(live[match["name"]]["text"]), html)


def plain(text: str) -> str:
    """The words alone, facts in place: what an answer is compared with."""
    return QUOTE.sub(lambda match: fact(match["name"]).text, text).strip()


def quoted(text: str) -> set[str]:
    """Names of the facts a piece of Markdown quotes (live numbers left out)."""
    found = {match["name"] for match in QUOTE.finditer(text)}
    return {name for name in found if not name.startswith("live.")}


def terms(html: str) -> list[str]:
    """Slugs of the glossary entries that rendered text links to."""
    return re.findall(r'data-term="([^"]+)"', html)


def _quote(name: str) -> str:
    macros = _inline_macros()
    if name.startswith("live."):
        return macros.live(name.removeprefix("live."))  # pyright: ignore[reportAttributeAccessIssue]
    return macros.fact(fact(name))  # pyright: ignore[reportAttributeAccessIssue]


def _term(match: re.Match[str]) -> str:
    text = unescape(match["text"])
    slug = match["slug"] or slugify(text)
    return _inline_macros().term(text, slug, meaning(slug))  # pyright: ignore[reportAttributeAccessIssue]
