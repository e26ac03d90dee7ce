"""Figures as parts of the page."""

from __future__ import annotations

import plotly.graph_objects as go
import plotly.io
from markupsafe import Markup

_CONFIG = {"responsive": True, "displayModeBar": False}
"""Dragging zooms and a double click goes back; the buttons would cover the legends on a phone."""


def embedded(figure: go.Figure, name: str) -> Markup:
    """A figure as HTML, without Plotly's library, which the page includes once. `name` is the element's id."""
    html = plotly.io.to_html(
        figure, full_html=False, include_plotlyjs=False, config=_CONFIG, div_id=name, default_width="100%"
    )
    return Markup(html)  # noqa: S704 - made by Plotly, which escapes what is in it
