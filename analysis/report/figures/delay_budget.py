"""Figures of the budget of delays: stacked bars of its parts, by percentile and over time."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure
from analysis.tables.budget import Budget, BudgetOverTime

BANDS = ((50, "quickest half"), (90, "to 90%"), (95, "to 95%"), (99, "to 99%"), (100, "slowest 1%"))
"""The end of each band of notifications in the order of their delays, in percent, and its name."""
PARTS_SHOWN = (
    ("links", "links_ms", "#9db4c8"),
    ("waiting for links", "waiting_for_links_ms", "#3b82c4"),
    ("waiting at brokers", "waiting_at_brokers_ms", "#24507a"),
    ("work", "work_ms", "#3a9d6e"),
    ("platform", "platform_ms", "#a8cfa0"),
    ("contention", "contention_ms", "#cf3f2e"),
    ("unexplained", "unexplained_ms", "#7a8491"),
)
"""Name, field and colour of each part, from the bottom of a bar."""


def bands(budget: Sequence[Budget]) -> list[tuple[str, list[Budget]]]:
    """The classes of one variant's delays, from the shortest, by band; bands without any are left out.

    A class belongs to the band in which its middle lies, because it is not known which of its notifications are the
    slowest.
    """
    total, so_far = sum(row.notifications for row in budget), 0
    found: dict[str, list[Budget]] = {name: [] for _, name in BANDS}
    for row in budget:
        middle = 100 * (so_far + row.notifications / 2) / total
        found[next(name for end, name in BANDS if middle <= end)].append(row)
        so_far += row.notifications
    return [(name, rows) for name, rows in found.items() if rows]


def budget_figure(budget: Sequence[Budget], variants: Sequence[str]) -> go.Figure:
    """The mean of each part in bands of notifications from the quickest to the slowest, beside that of all."""
    figure = blank_figure()
    bars = [
        (variant, name, rows)
        for variant in variants
        if (own := [row for row in budget if row.variant == variant])
        for name, rows in [("all", own), *bands(own)]
    ]
    x = [[variant for variant, _, _ in bars], [name for _, name, _ in bars]]
    _stack(figure, x, [rows for _, _, rows in bars])
    figure.update_yaxes(title="mean delay, ms")
    return figure


def budget_over_time_figure(rows: Sequence[BudgetOverTime]) -> go.Figure:
    """The mean of each part by the second in which publications were due, of one variant."""
    figure = blank_figure()
    _stack(figure, [row.second for row in rows], [[row] for row in rows])
    figure.update_layout(bargap=0)
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(title="mean delay, ms")
    return figure


def _stack(figure: go.Figure, x: Sequence[object], bars: Sequence[Sequence[Budget | BudgetOverTime]]) -> None:
    for name, part, colour in PARTS_SHOWN:
        figure.add_bar(
            x=x,
            y=[_mean(rows, part) for rows in bars],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[sum(row.notifications for row in rows) for rows in bars],
            hovertemplate=f"{name} %{{y:.2f}} ms, %{{customdata:,}} notifications<extra></extra>",
        )
    figure.update_layout(barmode="relative")


def _mean(rows: Sequence[Budget | BudgetOverTime], part: str) -> float | None:
    """The mean of a part over all notifications; None where it is not known."""
    known = [(getattr(row.parts, part), row.notifications) for row in rows]
    if any(value is None for value, _ in known):
        return None
    return float(sum(value * count for value, count in known)) / sum(count for _, count in known)
