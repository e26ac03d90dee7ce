"""Figures of best-effort protocols: delivery ratio over time and by number of receivers, and lengths of routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.report.figures.shares import share_over_time_figure
from analysis.report.figures.style import blank_figure, colour, dash, line_mode, symbol
from analysis.tables.deliveries import DeliveryByReceivers, DeliveryOverTime
from analysis.tables.traffic import RouteLength


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies that a line of the figure of routes shows."""

    name: str
    """Addition to the variant's name."""
    dash: str
    count: Callable[[RouteLength], int]


_ARRIVED = _Copies("", "solid", lambda row: row.first + row.repeated)
_ENDED = _Copies(", at a broker that had it", "dot", lambda row: row.repeated)


def delivery_ratio_figure(delivery: Sequence[DeliveryOverTime], variants: Sequence[str]) -> go.Figure:
    """The share of due notifications that came, by the second in which publications were made."""
    return share_over_time_figure(
        delivery,
        variants,
        title="delivery ratio",
        share=lambda row: row.ratio,
        details=lambda row: row.due,
        hovertemplate="%{y:.1%} of %{customdata} due notifications",
    )


def ratio_by_receivers_figure(receivers: Sequence[DeliveryByReceivers], variants: Sequence[str]) -> go.Figure:
    """The share of due notifications that came, by the number of clients to which a publication was due."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        own = [row for row in receivers if row.variant == variant]
        if not own:
            continue
        figure.add_scatter(
            x=[row.receivers for row in own],
            y=[row.ratio for row in own],
            mode=line_mode(len(own)),
            marker={"symbol": symbol(index), "size": 7},
            name=variant,
            line={"color": colour(index), "dash": dash(index), "width": 1.5},
            customdata=[row.publications for row in own],
            hovertemplate="%{y:.1%}, %{customdata} publications",
        )
    figure.update_xaxes(title="clients to which a publication was due")
    figure.update_yaxes(title="delivery ratio", range=[0, 1.02], tickformat=".0%")
    figure.update_layout(hovermode="x unified")
    return figure


def route_lengths_figure(routes: Sequence[RouteLength], variants: Sequence[str]) -> go.Figure:
    """Copies of publications by the links that they had travelled when they arrived at a broker (line), and those of
    them that ended there, because the broker had the publication already (dotted)."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        own = [row for row in routes if row.variant == variant]
        for copies in (_ARRIVED, _ENDED) if own else ():
            figure.add_scatter(
                x=[row.hops for row in own],
                y=[copies.count(row) for row in own],
                mode="lines",
                name=f"{variant}{copies.name}",
                showlegend=copies is _ARRIVED,
                legendgroup=variant,
                line={"color": colour(index), "dash": copies.dash, "width": 2 if copies is _ARRIVED else 1.5},
                hovertemplate="%{y:,} copies",
            )
    figure.update_xaxes(title="links travelled")
    figure.update_yaxes(title="copies", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure
