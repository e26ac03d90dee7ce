"""Figures of delays: over time, and their cumulative distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour, dash, line_mode, log_axis, symbol
from analysis.report.percentiles import Percentiles
from analysis.tables.delays import DelayDistribution, DelayOverTime
from analysis.tables.detections import DetectionDelays
from analysis.tables.timeline import PhaseTimes
from record.manifest import PhaseName

SPREAD_OF_VARIANTS_AT_MOST = 3
"""Largest number of variants of which a figure shows a 95th percentile beside the median."""
_TAIL = (100, 50, 20, 10, 5, 2, 1, 0.5, 0.1, 0.01, 0.001, 0.0001)
"""Labels of the axis of shares."""
_SPREAD = (("p50_ms", "solid", ""), ("p95_ms", "dot", ", 95th percentile"))
"""Column of `delays`, dash, and addition to the variant's name of each line. The legend has the first line only."""


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
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(**log_axis("delay, ms (log)", (ms for row in delays for ms in (row.p50_ms, row.p95_ms))))
    figure.update_layout(hovermode="x unified")
    return figure


def distribution_figure(
    distribution: Sequence[DelayDistribution] | Sequence[DetectionDelays],
    variants: Sequence[str],
    percentiles: Sequence[Percentiles] = (),
) -> go.Figure:
    """The share of notifications that took longer than each delay; exact percentiles are marked."""
    figure = blank_figure()
    for index, variant in enumerate(variants):
        rows = [row for row in distribution if row.variant == variant]
        exact = next((found for found in percentiles if found.variant == variant), None)
        tail = () if exact is None else _shares(exact)
        add_distribution(figure, rows, variant, {"color": colour(index), "width": 2, "dash": dash(index)}, tail)
        if exact is not None:
            _mark(figure, exact, index)
    label_distributions(figure, distribution)
    return figure


def _shares(found: Percentiles) -> list[tuple[float, float]]:
    """The delay of each percentile, with the percentage that took longer."""
    return [(delay, _rounded(100 - percent)) for percent, delay in found.within.items()]


def _mark(figure: go.Figure, found: Percentiles, index: int) -> None:
    """Marks the percentiles of a variant on its line."""
    shares = _shares(found)
    figure.add_scatter(
        x=[delay for delay, _ in shares],
        y=[share for _, share in shares],
        mode="markers",
        name=f"{found.variant}, percentiles",
        showlegend=False,
        legendgroup=found.variant,
        marker={"color": colour(index), "symbol": symbol(index), "size": 9},
        customdata=[f"{percent:g}%" for percent in found.within],
        hovertemplate="%{customdata} within %{x:,.2f} ms, exactly",
    )


def add_distribution(
    figure: go.Figure,
    rows: Sequence[DelayDistribution | DetectionDelays],
    name: str,
    line: dict[str, Any],
    tail: Iterable[tuple[float, float]] = (),
) -> None:
    """Adds the line of one distribution, whose classes are in order; none where they hold nothing.

    It ends before the upper end of the last class, beyond which nothing is, because a logarithmic axis has no zero.
    Points of the `tail`, delays and the percentages that took longer, lead it on within that class.
    """
    total = sum(row.notifications for row in rows)
    if not total:
        return
    x, y, left = [rows[0].lower_ms], [100.0], total
    for row in rows:
        if row.lower_ms > x[-1]:
            x.append(row.lower_ms)
            y.append(y[-1])
        left -= row.notifications
        if left:
            x.append(row.upper_ms)
            y.append(_rounded(100 * left / total))
    for delay, share in tail:
        if delay > x[-1] and share < y[-1]:
            x.append(delay)
            y.append(share)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name=name,
        legendgroup=name,
        line=line,
        hovertemplate="%{y:.3~g}% took longer than %{x:,.2f} ms",
    )


def label_distributions(figure: go.Figure, distribution: Sequence[DelayDistribution | DetectionDelays]) -> None:
    """Labels the axes for these distributions."""
    figure.update_xaxes(**log_axis("delay, ms (log)", (row.lower_ms for row in distribution)))
    figure.update_yaxes(
        title="share that took longer, % (log)", type="log", tickvals=list(_TAIL), ticktext=[f"{p:g}" for p in _TAIL]
    )


def _rounded(percent: float) -> float:
    """A share without the digits that are noise of floating-point numbers."""
    return float(f"{percent:.10g}")
