"""The facts about one variant by which its delays are cut into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import Numbers
from record.service_time import Distribution, ServiceTime
from record.time_units import SECOND


@dataclass(frozen=True)
class Latency:
    """Equally likely times that pass besides links and work, in nanoseconds."""

    times: tuple[int, ...] = ()

    @cached_property
    def _tails(self) -> tuple[Numbers, Numbers]:
        """The times in ascending order, and the sums of each and all longer ones, with a zero behind."""
        times = np.sort(np.array(self.times, dtype=np.int64))
        return times, np.append(np.cumsum(times[::-1])[::-1], 0)

    def beyond(self, passed: Numbers) -> Numbers:
        """The mean of what is left of such a time when some of it passed while something else did."""
        if not self.times:
            return np.zeros(len(passed), dtype=np.int64)
        times, tails = self._tails
        longer = np.searchsorted(times, passed, side="right")
        return (tails[longer] - (len(times) - longer) * passed) // len(times)


@dataclass(frozen=True, kw_only=True)
class AtRest:
    """The times that a message takes where nothing else is going on, besides links: a calibration's."""

    submit: Latency = Latency()
    link: Latency = Latency()
    notify: Latency = Latency()
    frame: int = 0
    """Work for a frame, nanoseconds."""
    work: Mapping[str, int] = field(default_factory=dict)
    """Work for a message of each kind."""


@dataclass(frozen=True, kw_only=True)
class BudgetedVariant:
    """One variant. Times are the scenario's."""

    asked: AskedVariant
    rest: AtRest = AtRest()
    service: ServiceTime = ServiceTime()  # noqa: RUF009 - immutable
    modelled: bool = True
    """False without a calibration, so that `rest` is nothing."""
    simulated: bool = False
    """True where `rest` is charged, and not modelled."""
    run_start: int | None = None

    @property
    def contention_known(self) -> bool:
        """True where the kernel's waits were sampled, or there can be none."""
        return self.simulated or bool(self.asked.processors)

    def served(self, own: Numbers) -> Numbers:
        """Modelled service, given the time of each message that nothing else at rest explains. Where it is drawn, all
        of that is taken for it."""
        if not self.service:
            return np.zeros_like(own)
        if self.service.distribution is Distribution.CONSTANT:
            return np.full_like(own, round(self.service.mean * SECOND))
        return np.maximum(own, 0)
