"""The links and service times that a variant was asked for, and the times at which faults changed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.table import Numbers
from analysis.run_files.processor_times import NodeTimes, ProcessorTimes
from record.files import on_host
from record.processors import RELAY
from topology.link_properties import LinkProperties
from topology.sites import Site

Times = Sequence[tuple[int, int]]
"""Begins and ends, in nanoseconds."""
PUBLISHERS = "publishers"
"""The driver of clients that publish."""
SUBSCRIBERS = "subscribers"
"""The driver of clients that do not publish."""
PROGRAMS = "programs"
"""The relay of clients that are programs of their own."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The times that a simulated run charges its brokers by its calibration, in nanoseconds; zero for real ones."""

    frame: int = 0
    """Work for a frame."""
    work: Mapping[str, int] = field(default_factory=dict)
    """Work for a message of each kind."""
    latency: tuple[int, ...] = ()
    """The equally likely times that pass between a link and a broker's work."""

    @property
    def shortest(self) -> int:
        return min(self.latency, default=0)

    @property
    def longest(self) -> int:
        return max(self.latency, default=0)


@dataclass(frozen=True, kw_only=True)
class AskedVariant:
    """One variant."""

    links: Mapping[tuple[str, str], LinkProperties]
    """Properties of links by source and target."""
    sites: Sequence[Site] = ()
    """Sites of clients, by number."""
    publishers: frozenset[str] = frozenset()
    """Clients that publish, whose brokers acknowledge that."""
    programs: frozenset[str] = frozenset()
    """Clients that are programs of their own."""
    time_dilation: float = 1.0
    whole_log: bool = True
    """False where brokers logged a sample of publications, so that it is not known what travelled besides."""
    service_mean: float = 0.0
    """Mean service time in nanoseconds; 0 where messages are served as fast as can be."""
    costs: Costs = field(default_factory=Costs)
    struck: Mapping[str, Times] = field(default_factory=dict)
    """Times of faults, and a while after, by broker, and by `A->B` for directions."""

    processors: NodeTimes = field(default_factory=dict)
    """Times for which nodes waited for a processor, by node, where all hosts of the run were sampled."""
    stolen: ProcessorTimes | None = None
    """Times for which the hypervisor stole processors, where they were sampled."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """The host of each node, where several hosts shared the run."""

    @cached_property
    def wires(self) -> Mapping[tuple[str, str], LinkProperties]:
        """Properties of links and access links by source and target; without those to clients that read at a rate,
        where messages wait for no link."""
        if not self.sites:
            return self.links
        up = {(site.name, site.broker): site.up for site in self.sites}
        down = {(site.broker, site.name): site.down for site in self.sites if not site.reads_slowly}
        return {**self.links, **up, **down}

    def host_of(self, end: str) -> str:
        """The host of a broker, or of a site, which is on that of its first broker; empty where one had all of the
        run."""
        return self.hosts.get(self._first_brokers.get(end, end), "")

    def relay_of(self, end: str) -> str:
        """The relay through which the frames of a broker or a site go."""
        return on_host(RELAY, self.host_of(end))

    def subscribers_of(self, end: str) -> str:
        """The driver of the clients that do not publish beside a broker or on a site."""
        return on_host(SUBSCRIBERS, self.host_of(end))

    def acknowledged(self, source: str, target: str) -> int:
        """The number of clients at a direction's end whose broker, at its source, acknowledges what they publish."""
        here = [site for site in self.sites if (site.broker, site.name) == (source, target)]
        return sum(client in self.publishers for site in here for client in site.clients)

    def sending_at(self, end: str) -> Sequence[str]:
        """The processes that send at an end of a link: a broker, or those that act for a site's clients."""
        return self._acting_at(end, PUBLISHERS)

    def receiving_at(self, end: str) -> Sequence[str]:
        """The processes that receive at an end of a link: a broker, or those that act for a site's clients."""
        return self._acting_at(end, SUBSCRIBERS)

    def only_programs(self, site: Site) -> bool:
        """True where all clients of a site are programs."""
        return bool(site.clients) and self.programs.issuperset(site.clients)

    def _acting_at(self, end: str, driver: str) -> Sequence[str]:
        site = self._site_of.get(end)
        if site is None:
            return (end,)
        if self.only_programs(site):
            return (PROGRAMS,)
        driver = on_host(driver, self.host_of(end))
        return (driver,) if self.programs.isdisjoint(site.clients) else (driver, PROGRAMS)

    @cached_property
    def _first_brokers(self) -> Mapping[str, str]:
        return {site.name: site.broker for site in reversed(self.sites)}

    @cached_property
    def _site_of(self) -> Mapping[str, Site]:
        return {site.name: site for site in self.sites}

    def struck_on_link(self, source: str, target: str) -> Times:
        """The times of faults on a direction or on a broker at its ends; both directions of a link carry TCP."""
        names = (source, target, f"{source}->{target}", f"{target}->{source}")
        return [time for name in names for time in self.struck.get(name, ())]

    def struck_access(self, site: Site) -> Times:
        """The times of faults on a site, on its clients or on its access link, in which messages may wait for it."""
        names = (site.name, f"{site.name}->{site.broker}", f"{site.broker}->{site.name}")
        return [time for name in names for time in self.struck.get(name, ())]

    def struck_direction(self, source: str, target: str) -> Times:
        """The times of faults on the direction itself, which may make it quicker than asked."""
        return self.struck.get(f"{source}->{target}", ())


def untouched(begin: Numbers, end: Numbers, times: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """True for each interval that lies outside of all these times."""
    free = np.ones(len(begin), dtype=np.bool_)
    if not len(begin):
        return free
    first, last = begin.min(), end.max()
    for struck, over in times:
        if over >= first and struck <= last:  # most are before or after all of the intervals
            free &= (end < struck) | (begin > over)
    return free
