"""The time that a link as asked may take for each message, from being written to having left the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.links import Frames
from analysis.auditing.hops.table import Hops, Numbers
from analysis.budget.records import Records
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
_ACKNOWLEDGEMENTS = 2
"""Frames without messages, which no log has, that may be ahead of one on a link with a rate."""


@dataclass(frozen=True, slots=True)
class Range:
    """The shortest and the longest time of each message, nanoseconds."""

    shortest: NDArray[np.float64]
    longest: NDArray[np.float64]
    """Without end where TCP may have to repeat a frame."""
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

    def travelling(self, took: Numbers) -> Numbers:
        """The delay and jitter of each; without jitter where it took longer than the link explains, because it is not
        known then."""
        times = took.astype(np.float64)
        explained = np.where(times > self.longest, self.delay + self.through, np.maximum(times, self.shortest))
        return np.asarray(np.rint(explained - np.rint(self.through)), dtype=np.int64)

    def nearest(self, took: Numbers) -> Numbers:
        """The part of what each took that the link explains; more than it took where that was quicker than it can."""
        return np.rint(np.clip(took.astype(np.float64), self.shortest, self.longest)).astype(np.int64)


def ranges_of(sent: Records, asked: AskedVariant, nodes: Sequence[str]) -> tuple[Range, Truths]:
    """The times of all messages, in the order of directions and times, and True for those over links that the overlay
    had at the start: of others it is not known what was asked for."""
    known = np.zeros(len(sent), dtype=np.bool_)
    shortest, longest = np.zeros(len(sent)), np.zeros(len(sent))
    delays, through, serialised, behind = (np.zeros(len(sent)) for _ in range(4))
    send_time = np.zeros(len(sent), dtype=np.int64)
    for source, target, places in sent.directions(nodes):
        properties = asked.links.get((source, target))
        if properties is None:
            continue
        opposite = asked.links.get((target, source), properties)
        least, most = (bound * properties.jitter * SECOND for bound in _FURTHEST[properties.distribution])
        delay = properties.delay * SECOND
        known[places] = True
        delays[places] = delay
        shortest[places] = max(delay + least, 0.0)
        longest[places] = inf if properties.loss or opposite.loss else delay + most
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
    return Range(shortest, longest, send_time, delays, through, serialised, behind), known
