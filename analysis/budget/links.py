"""The time that a link as asked may take for each message, from being written to having left the link.

Jitter is not logged. Real brokers log an arrival when their event loop has the message, so that what passes beyond the
link's delay and rate is jitter and the platform's latency. Of that less the latency's mean, jitter is the part that its
variance has of both (the best linear estimate). Its sum is right, while all of it would count the latency twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.links import Frames
from analysis.auditing.hops.table import Hops, Numbers
from analysis.budget.records import Records
from analysis.budget.variant import BudgetedVariant
from analysis.reading.event_table import Truths
from analysis.reading.publication_events import UNKNOWN
from record.service_time import Distribution
from record.time_units import SECOND
from topology.link_properties import JitterDistribution

_FURTHEST = {
    JitterDistribution.NORMAL: (-4.0, 4.0),
    JitterDistribution.UNIFORM: (-1.0, 1.0),
    JitterDistribution.PARETO: (-0.6, 22.0),
}
"""The bounds of some thousand draws of a frame's jitter, in units of the link's."""
_DEVIATION = {JitterDistribution.NORMAL: 1.0, JitterDistribution.UNIFORM: sqrt(1 / 3), JitterDistribution.PARETO: 1.0}
"""The standard deviation of a frame's jitter, in the same units."""
_ACKNOWLEDGEMENTS = 2
"""Frames without messages, which no log has, that may be ahead of one on a link with a rate."""


@dataclass(frozen=True, slots=True)
class Range:
    """The shortest and the longest time of each message, nanoseconds."""

    shortest: NDArray[np.float64]
    longest: NDArray[np.float64]
    """With the longest latency of the platform, less its mean; without end where TCP may have to repeat a frame."""
    share: NDArray[np.float64]
    """The part that jitter is likely to have of what passes beyond delay, rate and the platform's mean."""
    send_time: Numbers
    """Send time of the message's link; `UNKNOWN` where it is drawn anew for each message."""
    delay: NDArray[np.float64]
    """The delay without jitter."""
    through: NDArray[np.float64]
    """The part that the link's rate takes."""
    serialised: NDArray[np.float64]
    """The part of that for the message itself."""
    behind: NDArray[np.float64]
    """The part for those that are behind it in its frame."""

    def take(self, chosen: Numbers) -> Range:
        return Range(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def quicker(self, struck: Truths) -> Range:
        """The times where a fault may have made the links of some messages as quick as can be."""
        return replace(self, shortest=np.where(struck, 0.0, self.shortest))

    def late(self, took: Numbers) -> Numbers:
        """The time beyond the link's delay and rate that may be jitter. Where more passed, none of it is known
        to be; and TCP's repeats are not told apart."""
        may_be = (took <= self.longest) & ~np.isinf(self.longest)
        return np.where(may_be, np.maximum(took - _whole(self.delay + self.through), 0), 0)

    def explained(self, took: Numbers, quickest: Numbers) -> Numbers:
        """The part of what each took that the link explains. The platform was at most `quickest` quicker than its mean.

        It is more than a message took that was quicker than the link can be. Where more passed than can be, the jitter
        is not known, and none.
        """
        times = took.astype(np.float64)
        at_rest = self.delay + self.through
        likely = at_rest + np.where(times > self.longest, 0.0, self.share * (times - at_rest))
        return _whole(np.maximum(np.minimum(likely, times + quickest), self.shortest))

    def travelling(self, times: Numbers) -> Numbers:
        """The part of each time on the link that is not the rate's."""
        return times - _whole(self.through)


def _whole(times: NDArray[np.float64]) -> Numbers:
    return np.asarray(np.rint(times), dtype=np.int64)


def ranges_of(sent: Records, variant: BudgetedVariant, nodes: Sequence[str]) -> tuple[Range, Truths]:
    """The times of all messages, in the order of directions and times, and True for those over links that the overlay
    had at the start: of others it is not known what was asked for."""
    asked = variant.asked
    known = np.zeros(len(sent), dtype=np.bool_)
    shortest, longest, share = (np.zeros(len(sent)) for _ in range(3))
    delays, through, serialised, behind = (np.zeros(len(sent)) for _ in range(4))
    send_time = np.zeros(len(sent), dtype=np.int64)
    for source, target, places in sent.directions(nodes):
        properties = asked.links.get((source, target))
        if properties is None:
            continue
        opposite, latency = asked.links.get((target, source), properties), variant.before_arrival(target)
        _, mean, slowest = latency.bounds
        least, most = (bound * properties.jitter * SECOND for bound in _FURTHEST[properties.distribution])
        delay = properties.delay * SECOND
        known[places] = True
        delays[places] = delay
        shortest[places] = max(delay + least, 0.0)
        loses = bool(properties.loss or opposite.loss)
        longest[places] = inf if loses else delay + most + slowest - mean
        jitter = (_DEVIATION[properties.distribution] * properties.jitter * SECOND) ** 2
        share[places] = 1.0 if loses or not latency.variance else jitter / (jitter + latency.variance)
        drawn = properties.send_time.distribution is not Distribution.CONSTANT
        send_time[places] = UNKNOWN if drawn else round(properties.send_time.mean * SECOND)
        if properties.rate is not None:
            own = sent.take(places)
            hops = Hops(own.time, own.link_time, own.link_time, own.bytes)
            frames = Frames(hops, np.ones(len(own), dtype=np.bool_), properties, asked.costs.longest)
            through[places] = frames.through()
            serialised[places], behind[places] = frames.shares()
            shortest[places] += through[places]
            longest[places] += through[places] + _ACKNOWLEDGEMENTS * frames.acknowledgement
    return Range(shortest, longest, share, send_time, delays, through, serialised, behind), known
