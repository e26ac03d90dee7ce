"""Figures of composite subscriptions (Li, Muthusamy, Jacobsen, Middleware 2008, figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from analysis.report.figures import blank_figure, colour
from analysis.tables.traffic import BrokerMessages

COUNTED = ("publish", "detection")
"""Kinds of messages that contribute to detections, or are made of them."""


def filtered(messages: Iterable[BrokerMessages]) -> dict[str, tuple[int, int]]:
    """Publications and detections that arrived at each broker, and those of them that it passed to no neighbour and no
    client.

    A message that a broker passes on several times hides others that end there, so the second number is a lower bound
    where publications have several receivers.
    """
    arrived: dict[str, int] = {}
    left: dict[str, int] = {}
    for row in messages:
        if row.kind in COUNTED:
            arrived[row.broker] = arrived.get(row.broker, 0) + row.from_clients + row.received
            left[row.broker] = left.get(row.broker, 0) + row.sent + row.delivered
    return {broker: (arriving, max(arriving - left[broker], 0)) for broker, arriving in arrived.items()}


def filtered_figure(messages: Sequence[BrokerMessages], variants: Sequence[str]) -> go.Figure:
    """Traffic into each broker, and the part of it that ended there; the busiest broker of the first variant first."""
    figure = blank_figure()
    by_variant = {variant: filtered(row for row in messages if row.variant == variant) for variant in variants}
    first = by_variant[variants[0]]
    brokers = sorted(
        {broker for found in by_variant.values() for broker in found},
        key=lambda broker: (-first.get(broker, (0, 0))[0], broker),
    )
    for index, variant in enumerate(variants):
        found = by_variant[variant]
        for place, (word, opacity) in enumerate((("in", 0.45), ("filtered", 1.0))):
            figure.add_bar(
                x=brokers,
                y=[found.get(broker, (0, 0))[place] for broker in brokers],
                name=f"{variant}, {word}",
                legendgroup=variant,
                marker={"color": colour(index), "opacity": opacity},
                hovertemplate=f"%{{x}}: %{{y:,}} {word}",
            )
    figure.update_xaxes(title="broker", type="category")
    figure.update_yaxes(title="publications and detections", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure
