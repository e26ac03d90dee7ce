"""The speed of a host, as the processor time of reference loops, and what it makes of costs measured on another host.

A loop is always the same work, so the ratio of its times on two hosts is that of their speeds at this kind of work.
Loops are timed before a run's first process starts: a speed that was read off a run's own delays would explain
whatever went wrong in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import fmean

from msgspec import Struct


class LoopTimes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nanoseconds of processor time of one pass of each loop on one host."""

    interpreter: int
    """Calls, attributes, dictionaries and tuples of Python."""
    system_calls: int
    """Writes to a pipe and reads from it."""
    loopback: int
    """Round trips over a TCP connection to the host itself."""

    def __post_init__(self) -> None:
        for loop in self.__struct_fields__:
            if getattr(self, loop) <= 0:
                raise ValueError(f"{loop}: a loop takes longer than nothing")


_LOOPS = LoopTimes.__struct_fields__


class CostScale(Struct, frozen=True, kw_only=True):
    """Factors of a calibration's costs."""

    work: float = 1.0
    """The factor of processor time: brokers' work."""
    platform: float = 1.0
    """The factor of latencies: wake-ups, system calls, gRPC."""

    def in_words(self) -> str:
        """The factors as they stand beside a budget."""
        if self.work == self.platform == 1.0:
            return "as calibrated"
        return f"{self.work:.2f} and {self.platform:.2f} of the calibrated"


class HostSpeed(Struct, frozen=True, kw_only=True):
    """The speed of a run's host beside that of the host whose costs explain its delays."""

    here: LoopTimes
    calibrated: LoopTimes
    timed: int
    """The time at which loops had been timed, in nanoseconds of the run's clock."""

    @property
    def scale(self) -> CostScale:
        """The factors that make of the calibration's costs those of this host."""
        return scale_between(self.calibrated, self.here)


def slowest_of(hosts: Iterable[LoopTimes]) -> LoopTimes:
    """The times of a host that is as slow as the slowest of some hosts at each kind of work."""
    return _of_all(hosts, max)


def mean_of(hosts: Iterable[LoopTimes]) -> LoopTimes:
    """The mean times of some hosts."""
    return _of_all(hosts, fmean)


def _of_all(hosts: Iterable[LoopTimes], one_of: Callable[[list[int]], float]) -> LoopTimes:
    found = list(hosts)
    return LoopTimes(**{loop: round(one_of([getattr(times, loop) for times in found])) for loop in _LOOPS})


def scale_between(calibrated: LoopTimes, here: LoopTimes) -> CostScale:
    """The factors from one host's costs to another's."""
    system_calls, loopback = here.system_calls / calibrated.system_calls, here.loopback / calibrated.loopback
    return CostScale(work=here.interpreter / calibrated.interpreter, platform=math.sqrt(system_calls * loopback))
