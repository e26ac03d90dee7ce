"""The section on stability: how long a burst is felt, by the largest delays of successive notifications.

Shown for scenarios in which a publisher bursts (`workload.publications.individually.*.bursts`). The burst begins with
the first publication of such a publisher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pyarrow.compute as pc

from analysis.phases import SECOND
from analysis.report.figures import blank_figure, colour
from analysis.results import read_columns
from analysis.stability import Point, stable_after, stretches
from analysis.tables import Notification, PhaseTimes

POINTS = 250
"""About so many for each variant,"""
LARGEST_STRETCH = 5000
"""but at least one for so many notifications, as the paper has it."""
SMALLEST_STRETCH = 20

_COLUMNS = ("publisher", "repeat", "intended_ns", "notified_ns", "delay_ms")


@dataclass(frozen=True, slots=True)
class Stability:
    """One variant."""

    variant: str
    notifications: int
    """For each point."""
    seconds: Sequence[float]
    """Since the begin of the run phase, of each point."""
    largest_ms: Sequence[float]
    begin: float
    """Of the burst, in seconds since the begin of the run phase."""
    stable_after: float | None
    """Seconds from the begin of the burst; None where nothing came before it."""
    peak_ms: float


def bursting_publishers(scenario: Mapping[str, Any]) -> list[str]:
    """Those who burst in a resolved scenario."""
    publications = (scenario.get("workload") or {}).get("publications") or {}
    return [name for name, own in (publications.get("individually") or {}).items() if own.get("bursts")]


def read_stability(
    results: Path, scenario: Mapping[str, Any], variants: Sequence[str], phases: Sequence[PhaseTimes]
) -> list[Stability]:
    """Of each variant that has notifications of a burst, in the order of `variants`; nothing where nobody bursts."""
    publishers = bursting_publishers(scenario)
    if not publishers:
        return []
    starts = {phase.variant: phase.start_ns for phase in phases if phase.phase == "run"}
    found: dict[str, Stability] = {}
    for variant, table in read_columns(results, Notification, _COLUMNS):
        first = table.filter(pc.and_(pc.equal(table["repeat"], 0), pc.is_valid(table["delay_ms"])))
        burst = first.filter(pc.is_in(first["publisher"], value_set=pc.cast(publishers, "string")))
        if len(burst) and variant in starts:
            begin = pc.min(burst["intended_ns"]).as_py()
            length = min(max(len(first) // POINTS, SMALLEST_STRETCH), LARGEST_STRETCH)
            points = stretches(first["notified_ns"].to_numpy(), first["delay_ms"].to_numpy(), length)
            found[variant] = _stability(variant, points, begin, starts[variant], length)
    return [found[variant] for variant in variants if variant in found]


def _stability(variant: str, points: Sequence[Point], begin: int, run: int, length: int) -> Stability:
    after = stable_after(points, begin)
    return Stability(
        variant=variant,
        notifications=length,
        seconds=[(point.came - run) / SECOND for point in points],
        largest_ms=[point.largest for point in points],
        begin=(begin - run) / SECOND,
        stable_after=None if after is None else after / SECOND,
        peak_ms=max(point.largest for point in points),
    )


def stability_figure(found: Sequence[Stability], variants: Sequence[str]) -> go.Figure:
    """The largest delay of each stretch, by the time at which it ended; a mark where a variant is stable again."""
    figure = blank_figure()
    for one in found:
        line = colour(variants.index(one.variant))
        figure.add_scatter(
            x=one.seconds,
            y=one.largest_ms,
            mode="lines",
            name=one.variant,
            legendgroup=one.variant,
            line={"color": line, "width": 2},
            hovertemplate=f"%{{y:.0f}} ms at most, of {one.notifications} notifications",
        )
        if one.stable_after is not None:
            figure.add_scatter(
                x=[one.begin + one.stable_after],
                y=[_at(one, one.begin + one.stable_after)],
                mode="markers",
                legendgroup=one.variant,
                showlegend=False,
                marker={"color": line, "size": 11, "symbol": "diamond"},
                hovertemplate=f"{one.variant} is stable from here, {one.stable_after:.1f} s after the burst began",
            )
    if found:
        figure.add_vline(x=min(one.begin for one in found), line={"width": 1, "dash": "dash", "color": "#888888"})
    figure.update_xaxes(title="seconds since the start of the run phase, when the last of a stretch came")
    figure.update_yaxes(title="largest delay, ms (log)", type="log", tickformat="~g")
    figure.update_layout(hovermode="x unified")
    return figure


def _at(one: Stability, second: float) -> float:
    """The delay at a point, found by its time."""
    nearest = min(range(len(one.seconds)), key=lambda index: abs(one.seconds[index] - second))
    return one.largest_ms[nearest]
