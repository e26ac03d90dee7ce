"""The time that an access link as asked is likely to have taken for each message of clients on sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from analysis.auditing.hops.asked import AskedVariant, untouched
from analysis.auditing.hops.table import Numbers
from analysis.budget.links import FURTHEST
from analysis.reading.event_table import NOBODY, Truths
from record.time_units import SECOND
from topology.link_properties import LinkProperties
from topology.sites import Site


@dataclass(frozen=True, slots=True)
class AccessLinks:
    """The shortest and the longest times of one direction of all access links, by the numbers of their sites."""

    shortest: Numbers
    longest: Numbers

    @classmethod
    def to_brokers(cls, sites: Sequence[Site]) -> AccessLinks:
        return cls._of([_bounds(site.up, site.down) for site in sites])

    @classmethod
    def to_clients(cls, sites: Sequence[Site]) -> AccessLinks:
        """The time that messages wait for a client which reads at a rate counts as its access link's."""
        bounds = ((site, _bounds(site.down, site.up)) for site in sites)
        return cls._of([(least, inf if site.reads_slowly else most) for site, (least, most) in bounds])

    @classmethod
    def _of(cls, bounds: Sequence[tuple[float, float]]) -> AccessLinks:
        times = np.array(bounds, dtype=np.float64).reshape(-1, 2)
        shortest, longest = np.minimum(times, _ENDLESS).astype(np.int64).T
        return cls(shortest, longest)

    def explained(self, sites: Numbers, took: Numbers, struck: Truths) -> Numbers:
        """The part of what each took that its access link explains; none of a message that came over none.

        Jitter, the rate and TCP's repeats are in no log, so all that they may have taken is taken for theirs. So is all
        that a message took while a fault `struck` the link or the site.
        """
        explained = np.zeros(len(took), dtype=np.int64)
        over = np.flatnonzero(sites != NOBODY)
        free = ~struck[over]
        least, most = np.where(free, self.shortest[sites[over]], 0), self.longest[sites[over]]
        explained[over] = np.clip(took[over], least, np.where(free, most, np.maximum(most, took[over])))
        return explained


def struck_access(asked: AskedVariant, sites: Numbers, begin: Numbers, end: Numbers) -> Truths:
    """True for each message that was on its way while a fault was on the access link, or on its site."""
    struck = np.zeros(len(sites), dtype=np.bool_)
    for number, site in enumerate(asked.sites):
        if times := asked.struck_access(site):
            own = sites == number
            struck[own] = ~untouched(begin[own], end[own], times)
    return struck


_ENDLESS = 1e18
"""Nanoseconds that stand for a time without end."""


def _bounds(asked: LinkProperties, opposite: LinkProperties) -> tuple[float, float]:
    """Nanoseconds of the shortest and the longest time."""
    least, most = (bound * asked.jitter for bound in FURTHEST[asked.distribution])
    endless = asked.rate is not None or asked.loss or opposite.loss
    return max(asked.delay + least, 0.0) * SECOND, inf if endless else (asked.delay + most) * SECOND
