"""The plots of a report, one function each, from typed rows to a Plotly figure.

Colours of text, axes and grids are left to the page, which sets them for light and dark mode. Variants have the same
colour in every plot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import plotly.graph_objects as go

from analysis.tables.delays import DelayDistribution, DelayOverTime
from analysis.tables.deliveries import DeliveryOverTime
from analysis.tables.detections import DetectionDelays
from analysis.tables.motion import Connectivity
from analysis.tables.timeline import PhaseTimes
from analysis.tables.traffic import BrokerMessages, QueueLength
from record.manifest import PhaseName

Row = TypeVar("Row", DeliveryOverTime, Connectivity)

VARIANT_COLOURS = ("#3b82c4", "#e07b39", "#3a9d6e", "#b05fb8", "#c2a12b", "#7a8491")
"""Colours that colour-blind readers can distinguish, legible on light and on dark ground."""
VARIANT_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
VARIANT_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star")
"""Marks and dashes distinguish variants in prints without colour."""
LOAD_SCALE = ((0.0, "#9db4c8"), (0.5, "#e0a63c"), (1.0, "#cf3f2e"))
"""Colours of loads, by the share of the largest one."""
SPREAD_OF_VARIANTS_AT_MOST = 3
"""Largest number of variants of which a figure shows a 95th percentile beside the median."""
_SPREAD = (("p50_ms", "solid", ""), ("p95_ms", "dot", ", 95th percentile"))
"""Column of `delays`, dash, and addition to the variant's name of each line. The legend has the first line only."""
MARKED_POINTS_AT_MOST = 40
"""Largest number of points that a line marks; more marks would hide the line."""


def colour(index: int) -> str:
    return VARIANT_COLOURS[index % len(VARIANT_COLOURS)]


def dash(index: int) -> str:
    return VARIANT_DASHES[index % len(VARIANT_DASHES)]


def symbol(index: int) -> str:
    return VARIANT_SYMBOLS[index % len(VARIANT_SYMBOLS)]


def line_mode(points: int) -> str:
    """Mode of a line through that many points, which are marked unless they are too many."""
    return "lines+markers" if points <= MARKED_POINTS_AT_MOST else "lines"


def on_scale(share: float) -> str:
    """A colour between the stops of `LOAD_SCALE`."""
    for (low, first), (high, second) in pairwise(LOAD_SCALE):
        if share <= high:
            part = (share - low) / (high - low)
            channels = zip(_channels(first), _channels(second), strict=True)
            return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in channels)
    return LOAD_SCALE[-1][1]


def _channels(code: str) -> tuple[int, int, int]:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


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
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(title=title, range=[0, 1.02], tickformat=".0%")
    figure.update_layout(hovermode="x unified")
    return figure


def log_axis(title: str, values: Iterable[float]) -> dict[str, Any]:
    """Settings of a logarithmic axis for these values.

    Over more than a decade it is labelled at 1, 2 and 5 only, because labels at all digits would overlap. Within one,
    Plotly chooses equal steps, because a short axis may show only one of those digits.
    """
    shown = [value for value in values if value > 0]
    within_a_decade = bool(shown) and max(shown) < 10 * min(shown)
    return {"title": title, "type": "log", "tickformat": "~g", "dtick": None if within_a_decade else "D2"}


def delay_over_time_figure(
    delays: Sequence[DelayOverTime], phases: Sequence[PhaseTimes], variants: Sequence[str]
) -> go.Figure:
    """Median (line) and 95th percentile (dotted) of the delay, by the second in which publications were due.

    With many variants, only the median is shown.
    """
    figure = blank_figure()
    for index, variant in enumerate(variants):
        rows = [row for row in delays if row.variant == variant]
        seconds = [row.second for row in rows]
        marked = line_mode(len(rows))
        count = [row.notifications for row in rows]
        for column, dashed, label in _SPREAD if len(variants) <= SPREAD_OF_VARIANTS_AT_MOST else _SPREAD[:1]:
            figure.add_scatter(
                x=seconds,
                y=[getattr(row, column) for row in rows],
                mode=marked,
                marker={"symbol": symbol(index), "size": 7},
                name=f"{variant}{label}",
                showlegend=not label,
                legendgroup=variant,
                line={"color": colour(index), "dash": dashed, "width": 2 if dashed == "solid" else 1.5},
                customdata=count,
                hovertemplate="%{y:.2f} ms, %{customdata} notifications",
            )
    ends = [row.end_s for row in phases if row.phase == PhaseName.RUN]
    if ends:
        figure.add_vline(x=min(ends), line={"width": 1, "dash": "dash", "color": "#888888"})
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(**log_axis("delay, ms (log)", (ms for row in delays for ms in (row.p50_ms, row.p95_ms))))
    figure.update_layout(hovermode="x unified")
    return figure


def distribution_figure(
    distribution: Sequence[DelayDistribution] | Sequence[DetectionDelays], variants: Sequence[str]
) -> go.Figure:
    """Cumulative distribution of the delay: the share of notifications within each delay."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        rows = [row for row in distribution if row.variant == variant]
        total = sum(row.notifications for row in rows)
        if not total:
            continue
        x, y, so_far = [rows[0].lower_ms], [0.0], 0
        for row in rows:
            if row.lower_ms > x[-1]:
                x.append(row.lower_ms)
                y.append(y[-1])
            so_far += row.notifications
            x.append(row.upper_ms)
            y.append(100 * so_far / total)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name=variant,
            line={"color": colour(index), "width": 2, "dash": dash(index)},
            hovertemplate="%{y:.1f}% within %{x:.2f} ms",
        )
    figure.update_xaxes(**log_axis("delay, ms (log)", (row.lower_ms for row in distribution)))
    figure.update_yaxes(title="share of notifications, %", range=[0, 101])
    return figure


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


def queue_figure(queues: Sequence[QueueLength], variants: Sequence[str]) -> go.Figure:
    """The longest output queue of the overlay in each second (line), and the sum of all queues (dotted).

    The figure begins with the run phase, because ten thousand joining clients fill queues that would dwarf the others.
    """
    figure = blank_figure()
    for index, variant in enumerate(variants):
        by_second: dict[int, list[QueueLength]] = defaultdict(list)
        for row in queues:
            if row.variant == variant and row.second >= 0:
                by_second[row.second].append(row)
        seconds = list(range(min(by_second), max(by_second) + 1)) if by_second else []
        longest = [max(by_second.get(second, []), key=lambda row: row.queue, default=None) for second in seconds]
        figure.add_scatter(
            x=seconds,
            y=[row.queue if row else 0 for row in longest],
            mode=line_mode(len(seconds)),
            name=f"{variant}, longest",
            legendgroup=variant,
            line={"color": colour(index), "width": 2},
            marker={"symbol": symbol(index), "size": 7},
            customdata=[f"{row.broker} → {row.neighbour}" if row and row.queue else "" for row in longest],
            hovertemplate="%{y} waiting %{customdata}",
        )
        figure.add_scatter(
            x=seconds,
            y=[sum(row.queue for row in by_second.get(second, [])) for second in seconds],
            mode="lines",
            name=f"{variant}, all queues",
            legendgroup=variant,
            line={"color": colour(index), "width": 1.5, "dash": "dot"},
            hovertemplate="%{y} waiting in all",
        )
    figure.update_xaxes(title="seconds since the start of the run phase")
    figure.update_yaxes(title="messages waiting", rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure


def blank_figure(height: int = 380) -> go.Figure:
    """A figure that leaves its colours to the page."""
    figure = go.Figure()
    figure.update_layout(
        height=height,
        autosize=True,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 56, "r": 12, "t": 8, "b": 48},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        font={"family": "system-ui, sans-serif", "size": 12},
    )
    return figure
