"""The figures of a search's page: load against delay, queues and messages."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour, dash
from analysis.tables.wording import variant_name
from studies.saturation.bisection import LoadOutcome
from studies.saturation.capacity import Capacity, LoadPoint, SaturationSummary

_SYMBOLS = {LoadOutcome.HOLDS: "circle", LoadOutcome.FAILS: "x", LoadOutcome.NOT_JUDGED: "square-open"}


def load_figure(summary: SaturationSummary, figure_name: str, title: str) -> go.Figure:
    """A line for each variant: the mean over seeds of a figure by load; marks tell what holds."""
    figure = blank_figure()
    for index, capacity in enumerate(summary.capacities):
        points = [point for point in capacity.points if point.mean(figure_name) is not None]
        figure.add_trace(
            go.Scatter(
                name=variant_name(capacity.variant),
                x=[point.load for point in points],
                y=[point.mean(figure_name) for point in points],
                mode="lines+markers",
                line={"color": colour(index), "dash": dash(index), "width": 1.5},
                marker={"color": colour(index), "size": 9, "symbol": [_SYMBOLS[point.outcome] for point in points]},
                customdata=_told(points),
                hovertemplate=f"%{{x:.4g}}{summary.unit}: %{{y:,.4g}}<br>%{{customdata}}<extra></extra>",
            )
        )
        _mark_highest(figure, capacity, index)
    figure.update_xaxes(title=f"{summary.raised}{f', {summary.unit}' if summary.unit else ''}", type="log")
    figure.update_yaxes(title=title, rangemode="tozero")
    figure.update_layout(showlegend=len(summary.capacities) > 1)
    return figure


def _told(points: Sequence[LoadPoint]) -> list[str]:
    return [f"{point.outcome} ({point.held} of {len(point.seeds)} seeds) {point.reason}" for point in points]


def _mark_highest(figure: go.Figure, capacity: Capacity, index: int) -> None:
    if capacity.highest is not None:
        figure.add_vline(x=capacity.highest, line={"color": colour(index), "dash": "dot", "width": 1})
