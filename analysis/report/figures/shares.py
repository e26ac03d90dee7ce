"""A figure of a share over time, with a line for each variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, dash, line_mode, symbol
from analysis.tables.deliveries import DeliveryOverTime
from analysis.tables.motion import Connectivity

Row = TypeVar("Row", DeliveryOverTime, Connectivity)


def share_over_time_figure(
    rows: Sequence[Row],
    variants: Sequence[str],
    *,
    title: str,
    share: Callable[[Row], float],
    details: Callable[[Row], Any],
    hovertemplate: str,
) -> go.Figure:
    """A share by second, from 0 to 1; one line for each variant that has rows. `details` are for the hover text."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        own = [row for row in rows if row.variant == variant]
        if not own:
            continue
        figure.add_scatter(
            x=[row.second for row in own],
            y=[share(row) for row in own],
            mode=line_mode(len(own)),
            marker={"symbol": symbol(index), "size": 7},
            name=variant,
            line={"color": colour(index), "dash": dash(index), "width": 2},
            customdata=[details(row) for row in own],
            hovertemplate=hovertemplate,
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title=title, range=[0, 1.02], tickformat=".0%")
    figure.update_layout(hovermode="x unified")
    return figure
