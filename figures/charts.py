"""What every Bokeh chart has in common: the page decides its width, and nothing can be dragged."""

from collections.abc import Sequence
from typing import Any, Literal

from bokeh.plotting import figure


def chart(
    across: str,
    up: str,
    *,
    scale: Literal["log", "linear"] = "log",
    told: Sequence[tuple[str, str]] = (),
    rows: Sequence[str] = (),
    **more: Any,
) -> figure:
    """Return an empty chart with its two axes named; ``told`` is what a point says when hovered.

    With ``rows``, names from the lowest up, the upward axis is no scale but one row a name.
    """
    return figure(
        x_axis_type=scale,
        y_axis_type="auto" if rows else scale,
        x_axis_label=across,
        y_axis_label=up,
        height=380,
        sizing_mode="stretch_width",
        tools="hover" if told else "",
        tooltips=list(told) or None,
        toolbar_location=None,
        background_fill_color=None,  # the page's own paper shows through, light or dark
        border_fill_color=None,
        outline_line_color=None,
        **({"y_range": list(rows)} if rows else {}),
        **more,
    )


def compact(drawn: figure) -> None:
    """Keep the legend small, top left: on a phone a chart is a hundred points high."""
    legend = drawn.legend
    legend.location = "top_left"
    legend.label_text_font_size = "11px"
    legend.update(spacing=0, padding=2, margin=4, glyph_height=14, label_height=14)
