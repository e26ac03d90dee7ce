"""The figure of the messages that each broker received."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour
from analysis.tables.traffic import BrokerMessages


def broker_messages_figure(messages: Sequence[BrokerMessages], variants: Sequence[str]) -> go.Figure:
    """Messages that each broker received; the busiest broker of the first variant comes first."""
    figure = blank_figure()
    by_variant = {variant: [row for row in messages if row.variant == variant] for variant in variants}
    handled = {variant: _handled(rows) for variant, rows in by_variant.items()}
    names = sorted({row.broker for row in messages}, key=lambda name: (-handled[variants[0]].get(name, 0), name))
    for index, variant in enumerate(variants):
        kinds = {name: _by_kind(by_variant[variant], name) for name in names}
        figure.add_bar(
            x=names,
            y=[handled[variant].get(name, 0) for name in names],
            name=variant,
            marker={"color": colour(index)},
            customdata=[kinds[name] for name in names],
            hovertemplate="%{x}: %{y:,} messages<br>%{customdata}",
        )
    figure.update_xaxes(title="broker", type="category")
    figure.update_yaxes(title="messages received", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure


def _handled(messages: Sequence[BrokerMessages]) -> dict[str, int]:
    """Messages received by each broker, from clients and neighbours."""
    handled: dict[str, int] = defaultdict(int)
    for row in messages:
        handled[row.broker] += row.from_clients + row.received
    return handled


def _by_kind(rows: Sequence[BrokerMessages], broker: str) -> str:
    return "<br>".join(
        f"{row.kind}: {row.from_clients + row.received:,}" for row in rows if row.broker == broker and row.kind
    )
