"""Trajectories of brokers in the plane: legs of constant velocity, without steps of time in between.

Lengths are metres, times seconds, velocities metres a second.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from topology.link_properties import OverlayError

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Leg:
    """A straight way at constant velocity, or a stay."""

    begin: float
    end: float
    position: Point
    """The position at `begin`."""
    velocity: Point

    def at(self, time: float) -> Point:
        """The position at a time of this leg."""
        passed = time - self.begin
        return self.position[0] + passed * self.velocity[0], self.position[1] + passed * self.velocity[1]


@dataclass(frozen=True)
class Trajectory:
    """The way of one broker: legs that follow each other without a gap in time. Raises `OverlayError`.

    Before its first leg a broker is where that begins; after the last it stays where that ends.
    """

    legs: tuple[Leg, ...]

    def __post_init__(self) -> None:
        if not self.legs:
            raise OverlayError("a trajectory has at least one leg")
        for leg, following in zip(self.legs, self.legs[1:], strict=False):
            if leg.end != following.begin:
                raise OverlayError(f"a leg ends at {leg.end:g} s, and the next one begins at {following.begin:g} s")
        for leg in self.legs:
            if leg.end < leg.begin:
                raise OverlayError(f"a leg ends at {leg.end:g} s, before it begins at {leg.begin:g} s")

    def at(self, time: float) -> Point:
        """The position at a time."""
        number = max(bisect_right(self.legs, time, key=lambda leg: leg.begin) - 1, 0)
        leg = self.legs[number]
        return leg.at(min(max(time, leg.begin), leg.end))

    def later(self, seconds: float) -> Trajectory:
        """A copy that happens this many seconds later."""
        return Trajectory(tuple(replace(leg, begin=leg.begin + seconds, end=leg.end + seconds) for leg in self.legs))

    def until(self, end: float) -> Trajectory:
        """A copy cut to the time from 0 to `end`, with the stays before the first leg and after the last as legs."""
        legs = [leg for leg in self.legs if leg.begin < end and leg.end > 0]
        first, last = (legs[0], legs[-1]) if legs else (None, None)
        if first is None or last is None:
            return Trajectory((Leg(0.0, end, self.at(0.0), (0.0, 0.0)),))
        made = [Leg(max(leg.begin, 0.0), min(leg.end, end), leg.at(max(leg.begin, 0.0)), leg.velocity) for leg in legs]
        if first.begin > 0:
            made.insert(0, Leg(0.0, first.begin, first.position, (0.0, 0.0)))
        if last.end < end:
            made.append(Leg(last.end, end, last.at(last.end), (0.0, 0.0)))
        return Trajectory(tuple(made))
