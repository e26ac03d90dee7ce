"""The figure of normalized resource usage (NRU) over the matching ratio, for runs over a network of routers.

The figure follows MEDYM, figure 7. A publication's *matching ratio* is its number of destinations over that of all
brokers but the publisher's. Variants that differ in the matching ratio of their subscriptions alone are points of one
scheme, so they share a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.report.figures.style import MARKED_POINTS_AT_MOST, blank_figure, colour, dash, log_axis, symbol
from analysis.tables.traffic import NetworkUsage
from record.manifest import VariantRecord
from topology.model import Overlay

_RATIO = "workload.subscriptions.matching_ratio"
_ALL_RATIOS = "all matching ratios"
"""Name of the line of variants that differ in nothing else."""


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """Publications with the same matching ratio, or with a similar one."""

    ratio: float
    """Mean of the publications' matching ratios."""
    normalized: float
    """Normalised resource usage (NRU) of the publications."""
    publications: int


@dataclass(frozen=True, slots=True)
class UsageLine:
    """A routing scheme's line: its variants differ in the matching ratio alone."""

    name: str
    first: int
    """Number of the first of its variants, which gives the line its colour."""
    points: Sequence[UsagePoint]
    """Points in ascending order of their ratios, at most `MARKED_POINTS_AT_MOST`."""


def usage_lines(
    rows: Iterable[NetworkUsage], variants: Sequence[VariantRecord], overlays: Mapping[str, Overlay]
) -> list[UsageLine]:
    """The lines that have a point, in the order of their first variants."""
    points: defaultdict[str, list[UsagePoint]] = defaultdict(list)
    for row in rows:
        others = len(overlays[row.variant].brokers) - 1
        points[row.variant].append(UsagePoint(row.destinations / others, row.normalized, row.publications))
    lines = []
    for members in _schemes(variants):
        own = [point for number in members for point in points[variants[number].name]]
        if own:
            lines.append(UsageLine(_name([variants[number].name for number in members]), members[0], _thinned(own)))
    return lines


def usage_figure(lines: Iterable[UsageLine]) -> go.Figure:
    """NRU over the matching ratio, one line for each scheme; at 1, a scheme is as good as IP multicast."""
    figure, shown = blank_figure(), []
    for line in lines:
        shown += [point.normalized for point in line.points]
        figure.add_scatter(
            x=[point.ratio for point in line.points],
            y=[point.normalized for point in line.points],
            mode="lines+markers",
            marker={"symbol": symbol(line.first), "size": 7},
            name=line.name,
            line={"color": colour(line.first), "dash": dash(line.first), "width": 2},
            customdata=[point.publications for point in line.points],
            hovertemplate="%{y:.3f} at %{x:.1%}, %{customdata:,} publications",
        )
    if figure.data:
        figure.add_hline(y=1, line={"dash": "dot", "width": 1, "color": "gray"})
    figure.update_xaxes(title="matching ratio: destinations, as a share of the other brokers", tickformat=".0%")
    figure.update_yaxes(**log_axis("normalized resource usage (log)", shown))
    return figure


def _schemes(variants: Sequence[VariantRecord]) -> Iterable[list[int]]:
    """The numbers of the variants that differ in the matching ratio alone."""
    schemes: defaultdict[str, list[int]] = defaultdict(list)
    for number, variant in enumerate(variants):
        others = {path: value for path, value in variant.settings.items() if path != _RATIO}
        schemes[repr(sorted(others.items()))].append(number)
    return schemes.values()


def _name(variants: Sequence[str]) -> str:
    """The parts that the names of all these variants share."""
    parts = zip(*(name.split("+") for name in variants), strict=False)
    return "+".join(same[0] for same in parts if len(set(same)) == 1) or _ALL_RATIOS


def _thinned(points: Iterable[UsagePoint]) -> list[UsagePoint]:
    """One point for each ratio, or, where these are many, one for all ratios in each of equally wide classes."""
    by_ratio: defaultdict[float, list[UsagePoint]] = defaultdict(list)
    for point in points:
        by_ratio[point.ratio].append(point)
    classes = by_ratio
    if len(by_ratio) > MARKED_POINTS_AT_MOST:
        classes = defaultdict(list)
        for ratio, same in by_ratio.items():
            classes[min(int(ratio * MARKED_POINTS_AT_MOST), MARKED_POINTS_AT_MOST - 1)] += same
    return [_mean(classes[key]) for key in sorted(classes)]


def _mean(points: Sequence[UsagePoint]) -> UsagePoint:
    """The point of all publications of several."""
    count = sum(point.publications for point in points)
    return UsagePoint(
        sum(point.ratio * point.publications for point in points) / count,
        sum(point.normalized * point.publications for point in points) / count,
        count,
    )
