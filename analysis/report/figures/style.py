"""The common style of a report's figures.

Colours of text, axes and grids are left to the page, which sets them for light and dark mode. Variants have the same
colour in every figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

VARIANT_COLOURS = ("#3b82c4", "#e07b39", "#3a9d6e", "#b05fb8", "#c2a12b", "#7a8491")
"""Colours that colour-blind readers can distinguish, legible on light and on dark ground."""
VARIANT_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
VARIANT_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star")
"""Marks and dashes distinguish variants in prints without colour."""
LOAD_SCALE = ((0.0, "#9db4c8"), (0.5, "#e0a63c"), (1.0, "#cf3f2e"))
"""Colours of loads, by the share of the largest one."""
MARKED_POINTS_AT_MOST = 40
"""Largest number of points that a line marks; more marks would hide the line."""
RUN_SECONDS = "seconds since the start of the run phase"
"""Title of the axis of every figure over time."""
_SHADE = "rgba(128,128,128,0.22)"


def colour(index: int) -> str:
    return VARIANT_COLOURS[index % len(VARIANT_COLOURS)]


def dash(index: int) -> str:
    return VARIANT_DASHES[index % len(VARIANT_DASHES)]


def symbol(index: int) -> str:
    return VARIANT_SYMBOLS[index % len(VARIANT_SYMBOLS)]


def line_mode(points: int) -> str:
    """Mode of a line through that many points, which are marked unless they are too many."""
    return "lines+markers" if points <= MARKED_POINTS_AT_MOST else "lines"


def on_scale(share: float) -> str:
    """A colour between the stops of `LOAD_SCALE`."""
    for (low, first), (high, second) in pairwise(LOAD_SCALE):
        if share <= high:
            part = (share - low) / (high - low)
            channels = zip(_channels(first), _channels(second), strict=True)
            return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in channels)
    return LOAD_SCALE[-1][1]


def _channels(code: str) -> tuple[int, int, int]:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def log_axis(title: str, values: Iterable[float]) -> dict[str, Any]:
    """Settings of a logarithmic axis for these values.

    Over more than a decade it is labelled at 1, 2 and 5 only, because labels at all digits would overlap. Within one,
    Plotly chooses equal steps, because a short axis may show only one of those digits.
    """
    shown = [value for value in values if value > 0]
    within_a_decade = bool(shown) and max(shown) < 10 * min(shown)
    return {"title": title, "type": "log", "tickformat": "~g", "dtick": None if within_a_decade else "D2"}


def shade(figure: go.Figure, begin: float, end: float, text: str) -> None:
    """Shades an interval of the x axis behind the lines, with a text at its left edge."""
    figure.add_vrect(
        x0=begin,
        x1=end,
        fillcolor=_SHADE,
        line_width=0,
        layer="below",
        annotation={"text": text, "textangle": -90, "font": {"size": 10}, "xanchor": "left"},
        annotation_position="top left",
    )


def blank_figure(height: int = 380) -> go.Figure:
    """A figure that leaves its colours to the page."""
    return go.Figure(  # in one call, because to change the layout of a figure takes five times as long
        layout={
            "height": height,
            "autosize": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 56, "r": 12, "t": 8, "b": 48},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "font": {"family": "system-ui, sans-serif", "size": 12},
        }
    )
