"""The pace of a workload over its run phase.

A workload makes its publications in a time of its own, its *load time*, as if its rate never changed. At the pace p, p
seconds of load time pass in a second of the run. So one mapping of times gives every kind of workload its profile, and
the mean of a rate over any part of the run is the usual rate times the mean pace there.

The pace is linear between corners; a cosine has corners enough to be within a thousandth of its height.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, pi, sqrt

from scenario.model import Scenario
from scenario.sections.workload.course import Day, PaceBurst, Profile

_CORNERS_OF_DAY = 96
"""Corners of a cosine's period."""

Corner = tuple[float, float]
"""Seconds of the run phase, and the pace there. Two corners at one time are a jump."""


@dataclass(frozen=True, slots=True)
class PaceCurve:
    """The mapping between the seconds of a run phase and those of load time."""

    corners: tuple[Corner, ...]
    """In order of time, from the start to the end of the run phase."""
    _loads: list[float] = field(init=False)
    """The load time at each corner."""

    def __post_init__(self) -> None:
        loads = [0.0]
        for (begin, first), (end, last) in pairwise(self.corners):
            loads.append(loads[-1] + (end - begin) * (first + last) / 2)
        object.__setattr__(self, "_loads", loads)

    @property
    def load(self) -> float:
        """The load time of the whole run phase."""
        return self._loads[-1]

    def moment(self, load: float) -> float:
        """The second of the run phase at which a load time has passed, which is less than that of the whole phase."""
        load = min(load, self.load)
        place = min(bisect_right(self._loads, load), len(self._loads) - 1)
        (begin, first), (end, last) = self.corners[place - 1], self.corners[place]
        rest = load - self._loads[place - 1]
        if rest <= 0:
            return begin
        slope = (last - first) / (end - begin)
        return begin + min(2 * rest / (first + sqrt(max(first * first + 2 * slope * rest, 0.0))), end - begin)


def curve(profile: Profile, run: float) -> PaceCurve:
    """The curve of a profile in a run phase of `run` seconds."""
    if profile.ramp is not None:
        return PaceCurve(((0.0, profile.ramp.begin), (run, profile.ramp.end)))
    if profile.day is not None:
        return PaceCurve(tuple(_until(run, _day(profile.day, run))))
    if profile.steps:
        return PaceCurve(tuple(_until(run, _stairs([(step.at, step.pace) for step in profile.steps]))))
    return PaceCurve(tuple(_until(run, _stairs(list(_bursts(profile.bursts, run))))))


def curve_of(scenario: Scenario) -> PaceCurve | None:
    """The curve of a scenario's workload; None where it has no profile."""
    profile = scenario.workload.profile
    return None if profile is None else curve(profile, scenario.timeline.run)


def load_time(scenario: Scenario) -> float:
    """The seconds of load time in a scenario's run phase."""
    made = curve_of(scenario)
    return scenario.timeline.run if made is None else made.load


def _day(day: Day, run: float) -> Iterator[Corner]:
    for number in range(int(run / day.period * _CORNERS_OF_DAY) + 2):
        turn = number / _CORNERS_OF_DAY
        yield day.period * turn, day.least + (day.most - day.least) * (1 - cos(2 * pi * turn)) / 2


def _bursts(bursts: Iterable[PaceBurst], run: float) -> Iterator[Corner]:
    """The steps of bursts, of which the one that comes later ends the one before."""
    starts: list[tuple[float, PaceBurst]] = []
    for burst in bursts:
        count = 1 if burst.every is None else int(max(run - burst.at, 0.0) / burst.every) + 1
        starts += [(burst.at + number * (burst.every or 0.0), burst) for number in range(count)]
    starts.sort(key=lambda start: start[0])
    for place, (at, burst) in enumerate(starts):
        yield at, burst.pace
        if place + 1 == len(starts) or at + burst.lasts < starts[place + 1][0]:
            yield at + burst.lasts, 1.0


def _stairs(steps: list[Corner]) -> Iterator[Corner]:
    """The corners of steps, with the usual pace before the first."""
    former = 1.0
    yield 0.0, former
    for at, pace in steps:
        yield at, former
        yield at, pace
        former = pace
    yield float("inf"), former


def _until(run: float, corners: Iterator[Corner]) -> Iterator[Corner]:
    """The corners up to the end of the run phase, where the last one lies."""
    begin, first = next(corners)
    yield begin, first
    for at, pace in corners:
        if at >= run:
            yield run, first if at == float("inf") else first + (pace - first) * (run - begin) / (at - begin)
            return
        yield at, pace
        begin, first = at, pace
