"""The ways of brokers that move, on the map of a page: in the unit square with y downwards, at one scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analysis.live.frames import Corner
from topology.link_properties import BrokerId
from topology.mobility import Trajectory

_MILLISECONDS, _PLACES = 3, 4


def ways_of(trajectories: Mapping[BrokerId, Trajectory], brokers: Iterable[BrokerId]) -> list[list[Corner]]:
    """The way of each broker, in their order. All of them together fill the square."""
    corners = {
        broker: [(time, *way.at(time)) for time in [*(leg.begin for leg in way.legs), way.legs[-1].end]]
        for broker, way in trajectories.items()
    }
    every = [corner for found in corners.values() for corner in found]
    left, top = min(x for _, x, _ in every), max(y for _, _, y in every)
    size = max(max(x for _, x, _ in every) - left, top - min(y for _, _, y in every)) or 1.0
    return [
        [
            (round(time, _MILLISECONDS), round((x - left) / size, _PLACES), round((top - y) / size, _PLACES))
            for time, x, y in corners[broker]
        ]
        for broker in brokers
    ]
