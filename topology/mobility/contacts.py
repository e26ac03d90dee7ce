"""Contacts of moving brokers: the times in which two of them are within radio range (unit disk).

While two brokers each move along a leg, the square of their distance is a quadratic function of time, |p + v t|^2. The
begin and the end of a contact are the roots of a quadratic equation, so no contact is missed between two steps of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from topology.link_properties import OverlayError
from topology.mobility.trajectories import Leg, Trajectory

SHORTEST = 1e-9
"""Seconds: a contact or a gap that is shorter is rounding, as at the end of a leg, where two equations meet."""
MOST_LEGS = 500_000
"""Legs of all brokers: a bound on time and memory."""
MOST_ENCOUNTERS = 1_000_000
"""Pairs of legs that come within range of each other: a bound on time and memory."""
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, order=True)
class Contact:
    """A time in which two brokers, by their numbers, are within range, and before and after which they are not."""

    begin: float
    end: float
    a: int
    """Number of one of the brokers, the lower one."""
    b: int


def contacts(trajectories: Sequence[Trajectory], radius: float, end: float) -> list[Contact]:
    """All contacts between 0 and `end`, in order of their begin; one that goes on beyond is cut off at 0 or at `end`.

    Two brokers exactly `radius` metres apart are within range. Raises `OverlayError` for too many legs or encounters.
    """
    intervals: dict[tuple[int, int], list[tuple[float, float]]] = {}
    current = _Current(len(trajectories))
    legs = [(leg, number) for number, way in enumerate(trajectories) for leg in way.until(end).legs]
    if len(legs) > MOST_LEGS:
        raise OverlayError(f"{len(legs):,} legs of moving brokers; {MOST_LEGS:,} is the most")
    encounters = 0
    for leg, number in sorted(legs, key=lambda pair: (pair[0].begin, pair[1])):
        others, begins, ends = current.in_range(number, leg, radius)
        encounters += len(others)
        if encounters > MOST_ENCOUNTERS:
            raise OverlayError(
                f"brokers come within range of each other more than {MOST_ENCOUNTERS:,} times: use fewer brokers, a "
                "shorter range, or a shorter time"
            )
        for other, begin, until in zip(others.tolist(), begins.tolist(), ends.tolist(), strict=True):
            intervals.setdefault((min(number, other), max(number, other)), []).append((begin, until))
        current.set(number, leg)
    found = [
        Contact(begin, until, a, b)
        for (a, b), parts in intervals.items()
        for begin, until in _joined(sorted(parts, key=itemgetter(0)))
        if until - begin > SHORTEST
    ]
    return sorted(found)


class _Current:
    """The leg on which each broker is while legs are taken in order of their begin.

    A leg is compared with the current ones of all others, from its own begin on. So each two legs that overlap in time
    are compared once, when the later one begins.
    """

    def __init__(self, brokers: int) -> None:
        self._begin, self._end = np.zeros(brokers), np.full(brokers, -np.inf)
        self._position, self._velocity = np.zeros((brokers, 2)), np.zeros((brokers, 2))

    def set(self, broker: int, leg: Leg) -> None:
        self._begin[broker], self._end[broker] = leg.begin, leg.end
        self._position[broker], self._velocity[broker] = leg.position, leg.velocity

    def in_range(self, broker: int, leg: Leg, radius: float) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Brokers whose current leg comes within range of this leg, and from when until when."""
        others = np.flatnonzero(self._end > leg.begin)
        others = others[others != broker]
        ends = np.minimum(self._end[others], leg.end)
        lasts = ends - leg.begin
        passed = (leg.begin - self._begin[others])[:, None]
        where = self._position[others] + passed * self._velocity[others] - np.array(leg.position)
        enters, leaves = _within(where, self._velocity[others] - np.array(leg.velocity), radius)
        enters, leaves = np.maximum(enters, 0.0), np.minimum(leaves, lasts)
        inside = enters <= leaves
        # A contact that lasts to the end of a leg ends exactly there, so that it joins that of the next leg.
        until = np.where(leaves == lasts, ends, leg.begin + leaves)
        return others[inside], leg.begin + enters[inside], until[inside]


def _within(where: Vector, velocity: Vector, radius: float) -> tuple[Vector, Vector]:
    """The times at which |where + velocity * t| enters and leaves the radius; an empty interval where it never does."""
    square = (velocity**2).sum(axis=1)
    half = (where * velocity).sum(axis=1)
    rest = (where**2).sum(axis=1) - radius**2
    discriminant = half**2 - square * rest
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(discriminant, 0.0))
        enters, leaves = (-half - root) / square, (-half + root) / square
    still, never = square == 0, discriminant < 0
    enters = np.where(still, np.where(rest <= 0, -np.inf, np.inf), np.where(never, np.inf, enters))
    leaves = np.where(still, np.where(rest <= 0, np.inf, -np.inf), np.where(never, -np.inf, leaves))
    return enters, leaves


def _joined(parts: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals in order, those that touch joined."""
    joined: list[tuple[float, float]] = []
    for begin, end in parts:
        if joined and begin - joined[-1][1] <= SHORTEST:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined
