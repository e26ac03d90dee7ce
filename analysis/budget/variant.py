"""The facts about one variant by which its delays are cut into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from msgspec import UNSET, UnsetType

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import Numbers
from analysis.reading.intervals import Intervals
from broker_service.messages import Kind
from record.service_time import Distribution, SendingOrder, ServiceTime
from record.time_units import SECOND

_PUBLISH = Kind.PUBLISH.word


@dataclass(frozen=True)
class Latency:
    """Equally likely times that pass besides links and work, in nanoseconds."""

    times: tuple[int, ...] = ()

    @cached_property
    def _tails(self) -> tuple[Numbers, Numbers]:
        """The times in ascending order, and the sums of each and all longer ones, with a zero behind."""
        times = np.sort(np.array(self.times, dtype=np.int64))
        return times, np.append(np.cumsum(times[::-1])[::-1], 0)

    @cached_property
    def bounds(self) -> tuple[int, int, int]:
        """The shortest of them, their mean and the longest."""
        if not self.times:
            return 0, 0, 0
        return min(self.times), sum(self.times) // len(self.times), max(self.times)

    @cached_property
    def variance(self) -> float:
        """In square nanoseconds."""
        return float(np.var(self.times)) if self.times else 0.0

    def plausible(self, times: Numbers) -> Numbers:
        """Times that can be such ones, and the mean instead of longer ones, of which the rest is not known."""
        least, mean, most = self.bounds
        return np.where(times > most, mean, np.maximum(times, least))

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
    factor: float | UnsetType = UNSET
    """The factor that made these costs of the calibration's; not set where they hold as they are."""

    @property
    def handling(self) -> int:
        """Work for a publication that comes alone."""
        return self.frame + self.work.get(_PUBLISH, 0)


@dataclass(frozen=True, kw_only=True)
class BudgetedVariant:
    """One variant. Times are the scenario's."""

    asked: AskedVariant
    rest: AtRest = AtRest()
    rest_on: Mapping[str, AtRest] = field(default_factory=dict)
    """The costs at rest on each of several hosts, by its name; empty where one host had all of the run."""
    service: ServiceTime = ServiceTime()  # noqa: RUF009 - immutable
    sending: SendingOrder = SendingOrder.SIDE_BY_SIDE
    acknowledged_singly: bool = False
    """True where a link has one message in flight, until it is acknowledged."""
    modelled: bool = True
    """False without a calibration, so that `rest` is nothing."""
    simulated: bool = False
    """True where `rest` is charged, and not modelled."""
    run_start: int | None = None
    full_sessions: Mapping[str, Intervals] = field(default_factory=dict)
    """Times in which a slow reader's session was full, by broker."""

    @property
    def contention_known(self) -> bool:
        """True where the kernel's waits were sampled, or there can be none."""
        return self.simulated or bool(self.asked.processors)

    @property
    def replayed(self) -> bool:
        """True where a replay without contention can differ from what was measured."""
        return self.modelled and not self.simulated and self.asked.whole_log and bool(self.asked.processors)

    def rest_of(self, node: str) -> AtRest:
        """The costs at rest of a node: those of its host."""
        return self.rest_on.get(self.asked.hosts.get(node, ""), self.rest)

    def before_arrival(self, broker: str) -> Latency:
        """The latency between the end of a link and the logged arrival: real brokers log that when their event loop has
        the message, and simulated ones when the link is through."""
        return Latency() if self.simulated else self.rest_of(broker).link

    @property
    def draws_service(self) -> bool:
        """True where the service time of each message is drawn, so that it cannot be told from the time before it."""
        return bool(self.service) and self.service.distribution is not Distribution.CONSTANT

    def served(self, own: Numbers) -> Numbers:
        """Modelled service, given the time of each message that nothing else at rest explains. Where it is drawn, all
        of that is taken for it."""
        if not self.service:
            return np.zeros_like(own)
        if self.draws_service:
            return np.maximum(own, 0)
        return np.full_like(own, round(self.service.mean * SECOND))
