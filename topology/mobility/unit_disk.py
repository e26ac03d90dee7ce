"""Overlays of radio range: two brokers share a link while they are at most `radius` metres apart."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from topology.evolutions.evolution import Appears, Change, Evolution, Vanishes
from topology.link_properties import BrokerId, Link, OverlayError
from topology.mobility.contacts import contacts
from topology.mobility.models import Area
from topology.mobility.trajectories import Point, Trajectory
from topology.model import LARGEST_MESH, Broker, LinkSource, Overlay, check_size

MOST_PLACEMENTS, LEAST_PLACEMENTS = 1_000, 20
"""Random placements tried for one that is connected: fewer of many brokers, because each costs their square."""
_PAIRS_TRIED = 40_000_000
"""Pairs of brokers looked at in all placements together."""


def place(brokers: int, area: Area, radius: float, rng: random.Random) -> list[Point]:
    """Points drawn uniformly from the area, all of them anew until every two are joined by a path.

    Raises `OverlayError` when no placement is connected, of a thousand with up to 200 brokers.
    """
    placements = max(LEAST_PLACEMENTS, min(MOST_PLACEMENTS, _PAIRS_TRIED // brokers**2))
    for _ in range(placements):
        points = [area.draw(rng) for _ in range(brokers)]
        if _is_connected(points, radius):
            return points
    raise OverlayError(
        f"none of {placements:,} random placements of {brokers} brokers in {area.width:g} m x {area.height:g} m is "
        f"connected with a range of {radius:g} m: take more brokers, a longer range, or a smaller area"
    )


def unit_disk(name: str, positions: Mapping[BrokerId, Point], radius: float, links: LinkSource) -> Overlay:
    """The overlay of these positions, which its brokers carry as the attribute `position`.

    Links have the properties that `links` gives. Raises `OverlayError` when it is disconnected.
    """
    _check_number(len(positions))
    order = list(positions)
    near = np.triu(_within(list(positions.values()), radius), 1)
    check_size(len(order), int(np.count_nonzero(near)))
    pairs = [(order[a], order[b]) for a, b in np.argwhere(near).tolist()]
    brokers = tuple(Broker(broker, {"position": position}) for broker, position in positions.items())
    return Overlay(name, brokers, tuple(links.between(a, b) for a, b in pairs))


def moving(name: str, ways: Mapping[BrokerId, Trajectory], radius: float, links: LinkSource, end: float) -> Evolution:
    """The evolution of an overlay of radio range until `end` seconds after its start. It may be partitioned."""
    _check_number(len(ways))
    order = list(ways)
    brokers = tuple(Broker(broker, {"position": way.at(0.0)}) for broker, way in ways.items())
    start: list[Link] = []
    changes: list[Change] = []
    for contact in contacts(list(ways.values()), radius, end):
        a, b = order[contact.a], order[contact.b]
        if contact.begin == 0:
            start.append(links.between(a, b))
        else:
            changes.append(Appears(contact.begin, links.between(a, b)))
        if contact.end < end:
            changes.append(Vanishes(contact.end, a, b))
    number = {broker: position for position, broker in enumerate(order)}
    start.sort(key=lambda link: (number[link.a], number[link.b]))
    return Evolution(Overlay(name, brokers, tuple(start), True), tuple(sorted(changes, key=_when)))


def at_positions(overlay: Overlay, ways: Mapping[BrokerId, Trajectory], time: float) -> Overlay:
    """The overlay with the brokers' positions at this time, for a drawing."""
    brokers = (Broker(b.id, {**b.attributes, "position": ways[b.id].at(time)}) for b in overlay.brokers)
    return replace(overlay, brokers=tuple(brokers))


def _check_number(brokers: int) -> None:
    """Raises `OverlayError` for more brokers than a matrix of their distances may have rows."""
    if brokers > LARGEST_MESH:
        raise OverlayError(f"{brokers:,} brokers in a plane; {LARGEST_MESH:,} is the most")


def _when(change: Change) -> tuple[float, bool]:
    """Order of changes: what vanishes at a time comes before what appears."""
    return change.at, isinstance(change, Appears)


def _within(points: Sequence[Point], radius: float) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """True for every two points at most `radius` metres apart."""
    places = np.array(points, dtype=np.float64)
    between = places[:, None, :] - places[None, :, :]
    near: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (between**2).sum(axis=2) <= radius**2
    return near


def _is_connected(points: Sequence[Point], radius: float) -> bool:
    near = _within(points, radius)
    reached = np.zeros(len(points), dtype=np.bool_)
    border = np.array([0])
    reached[0] = True
    while len(border):
        border = np.flatnonzero(near[border].any(axis=0) & ~reached)
        reached[border] = True
    return bool(reached.all())
