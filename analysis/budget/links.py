"""The time that a link as asked may take for each message, from being written to having left the link.

Jitter is not logged. Real brokers log an arrival when their event loop has the message, so that what passes beyond the
link's delay and rate is jitter and the platform's latency. Of that less the latency's mean, jitter is the part that its
variance has of both (the best linear estimate). Its sum is right, while all of it would count the latency twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.links import Frames
from analysis.auditing.hops.table import Hops, Numbers
from analysis.budget.records import Direction, Records
from analysis.budget.variant import BudgetedVariant
from analysis.reading.event_table import Truths
from analysis.reading.publication_events import UNKNOWN
from record.service_time import Distribution
from record.time_units import SECOND
from topology.link_properties import JitterDistribution

FURTHEST = {
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
    """The part of that for the message itself; 0 where the variant is not replayed."""
    behind: NDArray[np.float64]
    """The part for those that are behind it in its frame; 0 where the variant is not replayed."""

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


class _Bounds(NamedTuple):
    """The numbers of `Range` that all messages of a direction have in common."""

    known: bool = False
    shortest: float = 0.0
    longest: float = 0.0
    share: float = 0.0
    delay: float = 0.0
    send_time: int = 0

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        return self.shortest, self.longest, self.share, self.delay


def ranges_of(sent: Records, directions: Sequence[Direction], variant: BudgetedVariant) -> tuple[Range, Truths]:
    """The times of all messages, in the order of directions and times, and True for those over links that the overlay
    had at the start: of others it is not known what was asked for."""
    lengths = [direction.end - direction.begin for direction in directions]
    bounds = [_bounds(direction, variant) for direction in directions]
    known = np.repeat(np.array([one.known for one in bounds], dtype=np.bool_), lengths)
    send_time = np.repeat(np.array([one.send_time for one in bounds], dtype=np.int64), lengths)
    numbers = np.array([one.numbers for one in bounds], dtype=np.float64).reshape(-1, 4)
    shortest, longest, share, delay = (np.repeat(column, lengths) for column in numbers.T)
    through, serialised, behind = (np.zeros(len(sent)) for _ in range(3))
    for direction in directions:
        properties, places = variant.asked.links.get(direction[:2]), direction.places
        if properties is None or properties.rate is None:
            continue
        written = sent.link_time[places]
        hops = Hops(sent.time[places], written, written, written, sent.bytes[places])
        frames = Frames(hops, np.ones(len(written), dtype=np.bool_), properties, variant.asked.costs.longest)
        through[places] = frames.through()
        if variant.replayed:
            serialised[places], behind[places] = frames.shares()
        shortest[places] += through[places]
        longest[places] += through[places] + _ACKNOWLEDGEMENTS * frames.acknowledgement
    return Range(shortest, longest, share, send_time, delay, through, serialised, behind), known


def _bounds(direction: Direction, variant: BudgetedVariant) -> _Bounds:
    """The numbers of one direction, without what the link's rate takes."""
    asked = variant.asked
    properties = asked.links.get((direction.source, direction.target))
    if properties is None:
        return _Bounds()
    opposite = asked.links.get((direction.target, direction.source), properties)
    latency = variant.before_arrival(direction.target)
    _, mean, slowest = latency.bounds
    least, most = (bound * properties.jitter * SECOND for bound in FURTHEST[properties.distribution])
    delay, loses = properties.delay * SECOND, bool(properties.loss or opposite.loss)
    jitter = (_DEVIATION[properties.distribution] * properties.jitter * SECOND) ** 2
    drawn = properties.send_time.distribution is not Distribution.CONSTANT
    return _Bounds(
        known=True,
        shortest=max(delay + least, 0.0),
        longest=inf if loses else delay + most + slowest - mean,
        share=1.0 if loses or not latency.variance else jitter / (jitter + latency.variance),
        delay=delay,
        send_time=UNKNOWN if drawn else round(properties.send_time.mean * SECOND),
    )
