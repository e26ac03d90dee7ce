"""Figures of composite subscriptions (Li, Muthusamy, Jacobsen, Middleware 2008, figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour
from analysis.tables.placements import Placement
from analysis.tables.traffic import BrokerMessages
from broker_service.messages import Kind

CARDINALITIES_SHOWN = 24
"""Join points whose estimated and measured cardinality the figure compares."""
COUNTED = (Kind.PUBLISH.word, Kind.DETECTION.word)
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


def compared_placements(placements: Iterable[Placement]) -> list[Placement]:
    """The join points that detected most, among those that were one in the run phase."""
    measured = [row for row in placements if row.detected_per_s is not None]
    most = sorted(measured, key=lambda row: (-row.detections, row.variant, row.name, row.joined_ns))
    return most[:CARDINALITIES_SHOWN]


def cardinality_figure(rows: Sequence[Placement], variants: Sequence[str]) -> go.Figure:
    """Detections a second at each join point: estimated when the place was chosen (section 4.3), and made."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        own = [row for row in rows if row.variant == variant]
        columns = (
            ("estimated", 0.45, [row.estimated_per_s for row in own]),
            ("made", 1.0, [row.detected_per_s for row in own]),
        )
        for word, opacity, values in columns if own else ():
            figure.add_bar(
                x=[f"{row.name} at {row.broker}" for row in own],
                y=values,
                name=f"{variant}, {word}",
                legendgroup=variant,
                marker={"color": colour(index), "opacity": opacity},
                hovertemplate=f"%{{x}}: %{{y:.3g}} a second {word}",
            )
    figure.update_xaxes(title="composite subscription and join point", type="category", automargin=True)
    figure.update_yaxes(title="detections a second", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure
