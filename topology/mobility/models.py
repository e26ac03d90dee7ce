"""Models of movement in a rectangle: random direction and random waypoint, as exact legs.

- *Random direction*: a broker moves in a direction drawn uniformly until it reaches an edge, pauses, and draws a
  direction that leads inside. (Semi-probabilistic routing, section 4; Royer, Melliar-Smith, Moser, 2001)
- *Random waypoint*: a broker moves straight to a point drawn uniformly from the area, pauses, and draws the next one.
  (Johnson, Maltz, 1996)

In both a speed is drawn for each leg.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from topology.link_properties import OverlayError
from topology.links import Range
from topology.mobility.trajectories import Leg, Point, Trajectory

MOST_LEGS = 20_000
"""Legs of one trajectory: a bound on time and memory."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle from the origin, in metres."""

    width: float
    height: float

    def __post_init__(self) -> None:
        if not (0 < self.width < math.inf and 0 < self.height < math.inf):
            raise OverlayError(f"an area has sides of more than 0 m, not {self.width:g} m and {self.height:g} m")

    def draw(self, rng: random.Random) -> Point:
        """A point, uniformly."""
        return rng.uniform(0, self.width), rng.uniform(0, self.height)


@dataclass(frozen=True, slots=True)
class Walk:
    """The speed of each leg, in metres a second, and the pause before the next one, in seconds."""

    speed: Range
    pause: Range

    def __post_init__(self) -> None:
        if self.speed.low <= 0:
            raise OverlayError("a moving broker's speed is more than 0 m/s")


Model = Callable[[Point, Area, Walk, float, random.Random], Trajectory]
"""A trajectory from a start until a time, in seconds."""


def random_direction(start: Point, area: Area, walk: Walk, end: float, rng: random.Random) -> Trajectory:
    """Straight to an edge of the area, and from there in another direction that leads inside."""

    def target(position: Point) -> Point:
        while True:
            angle = rng.uniform(0, math.tau)
            reached = _edge(position, (math.cos(angle), math.sin(angle)), area)
            if reached != position:
                return reached

    return _legs(start, walk, end, rng, target)


def random_waypoint(start: Point, area: Area, walk: Walk, end: float, rng: random.Random) -> Trajectory:
    """Straight to a point drawn from the area, and from there to another one."""
    return _legs(start, walk, end, rng, lambda _: area.draw(rng))


def _legs(start: Point, walk: Walk, end: float, rng: random.Random, target: Callable[[Point], Point]) -> Trajectory:
    """Legs from target to target with pauses in between. Raises `OverlayError` for too many."""
    legs: list[Leg] = []
    time, position = 0.0, start
    while time < end:
        if len(legs) > MOST_LEGS:
            raise OverlayError(f"more than {MOST_LEGS:,} legs of one broker: use a larger area, or a lower speed")
        following, speed = target(position), walk.speed.draw(rng)
        distance = math.dist(position, following)
        arrival = time + distance / speed
        if arrival > time:
            velocity = tuple((b - a) / (arrival - time) for a, b in zip(position, following, strict=True))
            legs.append(Leg(time, arrival, position, (velocity[0], velocity[1])))
            time, position = arrival, following
        pause = walk.pause.draw(rng)
        if pause > 0:
            legs.append(Leg(time, time + pause, position, (0.0, 0.0)))
            time += pause
    return Trajectory(tuple(legs)).until(end)


def _edge(position: Point, direction: Point, area: Area) -> Point:
    """The point at which a ray from a position leaves the area: exactly on an edge, and never beyond another."""
    times = []
    for coordinate, component, side in zip(position, direction, (area.width, area.height), strict=True):
        if component > 0:
            times.append((side - coordinate) / component)
        elif component < 0:
            times.append(-coordinate / component)
        else:
            times.append(math.inf)
    travelled = min(times)
    sides = (area.width, area.height)
    reached = []
    for axis in (0, 1):
        if times[axis] == travelled:
            reached.append(sides[axis] if direction[axis] > 0 else 0.0)
        else:
            reached.append(min(max(position[axis] + travelled * direction[axis], 0.0), sides[axis]))
    return reached[0], reached[1]
