"""The section on overlays that change: connectivity and degrees over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from analysis.report.figures import MARKED_POINTS_AT_MOST, blank_figure, colour, dash, symbol
from analysis.tables.motion import Connectivity, DegreeOverTime


def connectivity_figure(connectivity: Sequence[Connectivity], variants: Sequence[str]) -> go.Figure:
    """The share of pairs of brokers with a path between them, by second; one line for each variant that changed."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        rows = [row for row in connectivity if row.variant == variant]
        if not rows:
            continue
        figure.add_scatter(
            x=[row.second for row in rows],
            y=[row.pairs for row in rows],
            mode="lines+markers" if len(rows) <= MARKED_POINTS_AT_MOST else "lines",
            marker={"symbol": symbol(index), "size": 7},
            name=variant,
            line={"color": colour(index), "dash": dash(index), "width": 2},
            customdata=[(row.connected, row.links, row.appeared, row.vanished) for row in rows],
            hovertemplate="%{y:.1%} of pairs, in one part for %{customdata[0]:.1%} of the second; %{customdata[1]} "
            "links, %{customdata[2]} appeared, %{customdata[3]} vanished",
        )
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(title="connected pairs", range=[0, 1.02], tickformat=".0%")
    figure.update_layout(hovermode="x unified")
    return figure


def degree_figure(degrees: Sequence[DegreeOverTime]) -> go.Figure:
    """The brokers of one variant by their number of links, second by second, stacked."""
    brokers: dict[int, dict[int, int]] = defaultdict(dict)
    for row in degrees:
        brokers[row.degree][row.second] = row.brokers
    seconds = sorted({row.second for row in degrees})
    colours = sample_colorscale("Viridis", [(number + 0.5) / len(brokers) for number in range(len(brokers))])
    figure = blank_figure()
    for degree, code in zip(sorted(brokers), colours, strict=True):
        figure.add_scatter(
            x=seconds,
            y=[brokers[degree].get(second, 0) for second in seconds],
            name=f"{degree} links",
            mode="lines",
            stackgroup="degrees",
            line={"width": 0.5, "color": code},
            hovertemplate="%{y} brokers",
        )
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(title="brokers")
    figure.update_layout(hovermode="x unified")
    return figure
