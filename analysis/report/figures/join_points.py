"""Join points of composite subscriptions: marks in the drawing of the overlay, and their course over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from xml.etree.ElementTree import Element, SubElement

import plotly.graph_objects as go

from analysis.report.figures.style import RUN_SECONDS, blank_figure, colour
from analysis.tables.placements import Placement
from topology.drawings.layout import Position

COURSES_SHOWN = 20
"""Composite subscriptions whose join points are drawn over time: those that moved most."""
TIMES_LISTED = 8
"""Composite subscriptions that the hint of a broker lists."""
_ROW_HEIGHT = 30
"""Pixels for a composite subscription in the figure over time."""


def draw_join_points(
    svg: Element, placements: Sequence[Placement], places: Mapping[str, Position], radius: float
) -> None:
    """Draws a diamond at each join point, and an arrow for each move from one to the next."""
    moves = Counter((row.former, row.broker) for row in placements if row.former is not None)
    for (former, broker), count in sorted(moves.items()):
        if former in places and broker in places:
            _draw_move(svg, (former, places[former]), (broker, places[broker]), radius, count)
    at: defaultdict[str, list[Placement]] = defaultdict(list)
    for row in placements:
        at[row.broker].append(row)
    size = max(4.0, 0.55 * radius)
    for broker, rows in sorted(at.items()):
        if broker in places:
            x, y = places[broker][0] + radius * 0.8, places[broker][1] - radius * 0.8
            group = SubElement(svg, "g", {"class": "join"})
            SubElement(group, "title").text = _join_point_in_words(broker, rows)
            corners = ((x, y - size), (x + size, y), (x, y + size), (x - size, y))
            SubElement(group, "polygon", {"points": " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)})


def _draw_move(svg: Element, former: tuple[str, Position], latter: tuple[str, Position], radius: float, n: int) -> None:
    (source, (x1, y1)), (target, (x2, y2)) = former, latter
    length = hypot(x2 - x1, y2 - y1) or 1.0
    along, across = ((x2 - x1) / length, (y2 - y1) / length), ((y1 - y2) / length, (x2 - x1) / length)
    begin = x1 + along[0] * radius + across[0] * 6, y1 + along[1] * radius + across[1] * 6
    tip = x2 - along[0] * radius + across[0] * 6, y2 - along[1] * radius + across[1] * 6
    group = SubElement(svg, "g", {"class": "move"})
    moved = "once" if n == 1 else f"{n:,} times"
    SubElement(group, "title").text = f"A join point moved from {source} to {target} {moved}"
    ends = {"x1": f"{begin[0]:.1f}", "y1": f"{begin[1]:.1f}", "x2": f"{tip[0]:.1f}", "y2": f"{tip[1]:.1f}"}
    SubElement(group, "line", ends)
    wings = [(tip[0] - 7 * along[0] + side * across[0], tip[1] - 7 * along[1] + side * across[1]) for side in (-4, 4)]
    SubElement(group, "polygon", {"points": " ".join(f"{a:.1f},{b:.1f}" for a, b in (tip, *wings))})


def _join_point_in_words(broker: str, rows: Sequence[Placement]) -> str:
    lines = [f"{row.name} {_time_in_words(row)}, {row.detections:,} detections" for row in rows[:TIMES_LISTED]]
    more = [f"and {len(rows) - TIMES_LISTED:,} more"] if len(rows) > TIMES_LISTED else []
    return "\n".join([f"{broker} was a join point:", *lines, *more])


def _time_in_words(row: Placement) -> str:
    begin = "" if row.joined_s is None else f"from {row.joined_s:.1f} s"
    return f"{begin} to the end" if row.left_s is None else f"{begin} to {row.left_s:.1f} s"


def join_points_over_time(placements: Sequence[Placement], variants: Sequence[str], end: float) -> go.Figure:
    """The join point of each composite subscription over time, from the join phase to `end`, in seconds from the start
    of the run phase; one bar for each join point."""
    rows = _shown(placements)
    names = list(dict.fromkeys(_label(row, variants) for row in rows))
    figure = blank_figure(height=110 + _ROW_HEIGHT * len(names))
    for index, variant in enumerate(variants):
        own = [row for row in rows if row.variant == variant and row.joined_s is not None]
        if not own:
            continue
        until = [end if row.left_s is None else row.left_s for row in own]
        figure.add_bar(
            orientation="h",
            y=[_label(row, variants) for row in own],
            base=[row.joined_s for row in own],
            x=[max(0.0, left - (row.joined_s or 0.0)) for row, left in zip(own, until, strict=True)],
            text=[row.broker for row in own],
            textposition="inside",
            insidetextanchor="start",
            constraintext="none",
            textangle=0,
            name=variant,
            marker={"color": colour(index), "opacity": 0.8, "line": {"width": 2, "color": "rgba(128,128,128,0.9)"}},
            customdata=[(row.broker, _time_in_words(row), row.reason, " – ".join(row.path)) for row in own],
            hovertemplate="%{y}: %{customdata[0]}, %{customdata[1]}<br>%{customdata[2]}<br>%{customdata[3]}"
            "<extra></extra>",
        )
    figure.update_xaxes(title=RUN_SECONDS)
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1], automargin=True)
    figure.update_layout(barmode="overlay", bargap=0.3, showlegend=len(variants) > 1)
    return figure


def _label(row: Placement, variants: Sequence[str]) -> str:
    return row.name if len(variants) == 1 else f"{row.name}, {row.variant}"


def _shown(placements: Iterable[Placement]) -> list[Placement]:
    """The rows of the composite subscriptions that had most join points, by name."""
    of_composite: defaultdict[tuple[str, str], list[Placement]] = defaultdict(list)
    for row in placements:
        of_composite[row.name, row.variant].append(row)
    most = sorted(of_composite, key=lambda key: (-len(of_composite[key]), key))[:COURSES_SHOWN]
    return [row for key in sorted(most) for row in of_composite[key]]
