"""The delivery ratio of best-effort protocols over time."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures import MARKED_POINTS_AT_MOST, blank_figure, colour, dash, symbol
from analysis.tables.deliveries import DeliveryOverTime


def delivery_ratio_figure(delivery: Sequence[DeliveryOverTime], variants: Sequence[str]) -> go.Figure:
    """The share of due notifications that came, by the second in which publications were made."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        rows = [row for row in delivery if row.variant == variant]
        if not rows:
            continue
        figure.add_scatter(
            x=[row.second for row in rows],
            y=[row.ratio for row in rows],
            mode="lines+markers" if len(rows) <= MARKED_POINTS_AT_MOST else "lines",
            marker={"symbol": symbol(index), "size": 7},
            name=variant,
            line={"color": colour(index), "dash": dash(index), "width": 2},
            customdata=[row.due for row in rows],
            hovertemplate="%{y:.1%} of %{customdata} due notifications",
        )
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(title="delivery ratio", range=[0, 1.02], tickformat=".0%")
    figure.update_layout(hovermode="x unified")
    return figure
