"""The section on announced starts of subscriptions: the distribution of their latencies, and the latencies by
distance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.report.figures.style import blank_figure, colour, dash, log_axis
from analysis.tables.starts import Start

_POINTS_AT_MOST = 1_000
"""Points of a line; of more starts, evenly spaced ones are shown."""


@dataclass(frozen=True, slots=True)
class StartRow:
    """Starts at brokers that are equally far from their farthest broker, as the template shows them."""

    variant: str
    farthest: int | None
    announced: int
    missing: int
    median_ms: float | None
    slowest_ms: float | None


def starts_figure(starts: Sequence[Start], variants: Sequence[str]) -> go.Figure:
    """Cumulative distribution of the time from the issue of a subscription to the announcement of its start."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        latencies = sorted(row.latency_ms for row in starts if row.variant == variant and row.latency_ms is not None)
        if not latencies:
            continue
        count = len(latencies)
        places = sorted({*range(0, count, -(-count // _POINTS_AT_MOST)), count - 1})
        figure.add_scatter(
            x=[latencies[0], *(latencies[place] for place in places)],
            y=[0.0, *(100 * (place + 1) / count for place in places)],
            mode="lines",
            name=variant,
            line={"color": colour(index), "width": 2, "dash": dash(index), "shape": "hv"},
            hovertemplate="%{y:.1f}% within %{x:.2f} ms",
        )
    figure.update_xaxes(**log_axis("start latency, ms (log)", (row.latency_ms or 0 for row in starts)))
    figure.update_yaxes(title="share of subscriptions, %", range=[0, 101])
    return figure


def start_rows(starts: Sequence[Start], variants: Sequence[str]) -> list[StartRow]:
    """The latencies by variant and distance to the farthest broker."""
    groups: dict[tuple[int, int], list[Start]] = defaultdict(list)
    for start in starts:
        distance = -1 if start.farthest is None else start.farthest
        groups[variants.index(start.variant), distance].append(start)
    return [_row(variants[variant], distance, group) for (variant, distance), group in sorted(groups.items())]


def _row(variant: str, distance: int, group: Sequence[Start]) -> StartRow:
    latencies = sorted(start.latency_ms for start in group if start.latency_ms is not None)
    return StartRow(
        variant=variant,
        farthest=None if distance < 0 else distance,
        announced=len(latencies),
        missing=sum(start.missing for start in group),
        median_ms=latencies[(len(latencies) - 1) // 2] if latencies else None,
        slowest_ms=latencies[-1] if latencies else None,
    )
