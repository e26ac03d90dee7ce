"""The speed of a host, as the processor time of a reference loop, and what it makes of costs measured on another host.

The loop is always the same work, so the ratio of its times on two hosts is that of their speeds. It is one of Python's
interpreter, because that is what brokers and their libraries do, between system calls as well: on hosts whose system
calls take half as long and whose interpreter takes as long, messages at rest take as long. The loop is timed before a
run's first process starts: a speed that was read off a run's own delays would explain whatever went wrong in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from msgspec import Struct


class LoopTimes(Struct, frozen=True, kw_only=True):
    """Nanoseconds of processor time of one pass of a reference loop on one host.

    Files of earlier versions state loops of other kinds as well, which are not read.
    """

    interpreter: int
    """Calls, attributes, dictionaries and tuples of Python."""

    def __post_init__(self) -> None:
        if self.interpreter <= 0:
            raise ValueError("interpreter: a loop takes longer than nothing")


class HostSpeed(Struct, frozen=True, kw_only=True):
    """The speed of a run's host beside that of the host whose costs explain its delays."""

    here: LoopTimes
    calibrated: LoopTimes
    timed: int
    """The time at which the loop had been timed, in nanoseconds of the run's clock."""

    @property
    def factor(self) -> float:
        """The factor by which the calibration's costs are multiplied on this host."""
        return factor_between(self.calibrated, self.here)


def factor_between(calibrated: LoopTimes, here: LoopTimes) -> float:
    """The factor by which all costs of the calibrated host are multiplied on this one, because it is slower or faster.

    Costs are the processor time of brokers' work, and the latencies of a host at rest.
    """
    return here.interpreter / calibrated.interpreter


def factor_in_words(factor: float) -> str:
    """The factor as it stands beside a budget."""
    return "as calibrated" if factor == 1.0 else f"{factor:.2f} of the calibrated"


def slowest_of(hosts: Iterable[LoopTimes]) -> LoopTimes:
    """The times of the slowest of some hosts."""
    return max(hosts, key=lambda times: times.interpreter)


def mean_of(hosts: Iterable[LoopTimes]) -> LoopTimes:
    """The mean times of some hosts."""
    return LoopTimes(interpreter=round(fmean(times.interpreter for times in hosts)))
