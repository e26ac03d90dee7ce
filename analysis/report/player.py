"""The data of the player, which shows a changing overlay over time: positions, links, and brokers with an event.

The page holds them as JSON for `templates/player.js`. Times are seconds from the start of the run phase, positions are
in the unit square with y downwards. Variants with the same motion share it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from markupsafe import Markup

from analysis.report.data import ReportData
from analysis.script_data import in_script
from analysis.tables.motion import LinkLifetime, Spread
from record.manifest import PhaseName
from topology.drawings.layout import Position, layout
from topology.mobility import Trajectory
from topology.model import Overlay

MOST_CHANGES = 30_000
"""Appearances and disappearances in the page, which take about 20 bytes each. The player ends before further ones."""
_MILLISECONDS = 3
_PLACES = 4
"""Decimals of times and of positions."""

Point = tuple[float, float, float]
"""Time, x and y."""


class MovingOverlay(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers and links of an overlay over time."""

    brokers: list[str]
    begin: float
    end: float
    """Start of the join phase and end of the run, or of the changes that the page holds."""
    ways: list[list[Point]]
    """Points between which each broker moves straight; a single one for a broker that stays in place."""
    links: list[tuple[int, int, float, float]]
    """Numbers of both brokers, and the times between which the link is there."""
    shortened: bool
    """True where the overlay changes too often for all of its changes to be in the page."""


class PlayedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A publication of the sample."""

    name: str
    visits: list[tuple[float, int, int]]
    """Time of the first arrival at each broker, the broker's number, and the links travelled; in order of time."""


class PlayedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant, as the player shows it."""

    name: str
    overlay: int
    """Number of its moving overlay."""
    events: list[PlayedEvent]


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """All variants whose overlay changes."""

    overlays: list[MovingOverlay]
    variants: list[PlayedVariant]


def played(data: ReportData) -> Played:
    """The variants of a run whose overlay changes; none where all stay as they are."""
    lifetimes: dict[str, list[LinkLifetime]] = defaultdict(list)
    for row in data.lifetimes:
        lifetimes[row.variant].append(row)
    overlays: list[MovingOverlay] = []
    variants: list[PlayedVariant] = []
    for name in data.variants:
        if name not in lifetimes:
            continue
        overlay = _moving_overlay(data, name, lifetimes[name])
        if overlay not in overlays:
            overlays.append(overlay)
        events = _events((row for row in data.spread if row.variant == name), overlay)
        variants.append(PlayedVariant(name=name, overlay=overlays.index(overlay), events=events))
    return Played(overlays=overlays, variants=variants)


def as_script(content: Played) -> Markup:
    """The content as the page holds it."""
    return in_script(msgspec.json.encode(content).decode())


def _moving_overlay(data: ReportData, variant: str, lifetimes: Sequence[LinkLifetime]) -> MovingOverlay:
    overlay = data.overlays[variant]
    number = {broker.id: index for index, broker in enumerate(overlay.brokers)}
    begin, end = _span(data, variant)
    times = sorted(time for row in lifetimes for time in (row.appeared_s, row.vanished_s) if time is not None)
    shortened = len(times) > MOST_CHANGES
    if shortened:
        end = times[MOST_CHANGES]
    links = [
        (
            number[row.a],
            number[row.b],
            begin if row.appeared_s is None else round(row.appeared_s, _MILLISECONDS),
            end if row.vanished_s is None else round(min(row.vanished_s, end), _MILLISECONDS),
        )
        for row in lifetimes
        if row.appeared_s is None or row.appeared_s < end
    ]
    return MovingOverlay(
        brokers=list(number),
        begin=round(begin, _MILLISECONDS),
        end=round(end, _MILLISECONDS),
        ways=_ways(overlay, data.movements.get(variant, {}), begin, end),
        links=links,
        shortened=shortened,
    )


def _span(data: ReportData, variant: str) -> tuple[float, float]:
    """The begin of the join phase and the end of the drain phase, in seconds from the start of the run phase."""
    phases = [row for row in data.phases if row.variant == variant and row.phase != PhaseName.STOP]
    return min(row.start_s for row in phases), max(row.end_s for row in phases)


def _ways(overlay: Overlay, movements: Mapping[str, Trajectory], begin: float, end: float) -> list[list[Point]]:
    if not movements:
        return [[(round(begin, _MILLISECONDS), *_downwards(place))] for place in layout(overlay).values()]
    points = {broker: _points(way, begin, end) for broker, way in movements.items()}
    every = [point for found in points.values() for point in found]
    left, top = min(x for _, x, _ in every), max(y for _, _, y in every)
    size = max(max(x for _, x, _ in every) - left, top - min(y for _, _, y in every)) or 1.0
    return [
        [
            (round(time, _MILLISECONDS), round((x - left) / size, _PLACES), round((top - y) / size, _PLACES))
            for time, x, y in points[broker.id]
        ]
        for broker in overlay.brokers
    ]


def _points(way: Trajectory, begin: float, end: float) -> list[Point]:
    """The ends of all legs until a time, which counts from the start of the run phase as `begin` does."""
    corners = [leg.begin for leg in way.legs if leg.begin < end - begin]
    times = sorted({0.0, *corners, min(way.legs[-1].end, end - begin)})
    return [(time + begin, *way.at(time)) for time in times]


def _downwards(place: Position) -> Position:
    return round(place[0], _PLACES), round(1 - place[1], _PLACES)


def _events(spread: Iterable[Spread], overlay: MovingOverlay) -> list[PlayedEvent]:
    """The events of the sample in order of time; those that began after the player's end are left out."""
    number = {broker: index for index, broker in enumerate(overlay.brokers)}
    visits: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    for row in spread:
        visits[row.publication].append((round(row.reached_s, 6), number[row.broker], row.hops))
    found = [PlayedEvent(name=name, visits=visits[name]) for name in visits]
    return [event for event in found if event.visits[0][0] <= overlay.end]
