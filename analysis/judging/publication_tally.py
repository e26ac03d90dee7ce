"""Counts that stage 2 makes of publications: those that verdicts need, and figures that reports show."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import msgspec

from analysis.judging.detections.events import PartOfComposite
from analysis.judging.evidence.departures import LatestArrival
from analysis.judging.evidence.ways import Way, first_ways
from analysis.judging.fault_effects.baseline import Baselines
from analysis.judging.journeys.causes import Lead
from analysis.judging.journeys.issued import Issued
from analysis.judging.journeys.journey import Journey
from analysis.judging.journeys.network_usage import Usage
from analysis.judging.journeys.route_lengths import Copies
from analysis.judging.journeys.router_work import Work
from analysis.judging.journeys.spread import SpreadSample, spread_sample
from analysis.tables.comparison import DelayBlock
from analysis.tables.totals import FirstRows, Largest, Rows, Sum, Tally


class PublicationCounts(msgspec.Struct):
    """Counts over the publications of one variant."""

    variant: int
    published: Sum = 0
    logged: Sum = 0
    """Published, and in the sample that brokers logged."""
    rejected: Sum = 0
    compared: Sum = 0
    """Compared with subscriptions at some broker."""
    at_several_brokers: Sum = 0
    most_brokers: Largest = 0
    oldest: Largest = 0
    """In a variant that was not drained: of the notifications that came shortly before the end of the drain phase, the
    longest delay from publishing; nanoseconds."""

    @property
    def scale(self) -> float:
        """The number of publications for which each logged one stands; 1 where none was logged."""
        return self.published / self.logged if self.logged else 1.0

    def add(self, journey: Journey) -> None:
        brokers = journey.compared
        self.published += journey.published is not None
        self.logged += journey.published is not None and journey.logged
        self.rejected += journey.published is not None and journey.rejected
        self.compared += brokers > 0
        self.at_several_brokers += brokers > 1
        self.most_brokers = max(self.most_brokers, brokers)


@dataclass(slots=True)
class PublicationTally(Tally):
    """Counts made while publications are judged."""

    counts: Rows[PublicationCounts] = field(default_factory=partial(Rows, PublicationCounts))
    blocks: Rows[DelayBlock] = field(default_factory=partial(Rows, DelayBlock))
    """Delays of each other variant and of the first, side by side."""
    baselines: Baselines = field(default_factory=Baselines)
    work: Rows[Work] = field(default_factory=partial(Rows, Work))
    spread: SpreadSample = field(default_factory=spread_sample)
    routes: Rows[Copies] = field(default_factory=partial(Rows, Copies))
    """Copies of publications, in runs with a best-effort protocol only."""
    usage: Rows[Usage] = field(default_factory=partial(Rows, Usage))
    causes: Rows[Lead] = field(default_factory=partial(Rows, Lead))
    issued: Rows[Issued] = field(default_factory=partial(Rows, Issued))
    parts_matched: Rows[PartOfComposite] = field(default_factory=partial(Rows, PartOfComposite))
    ways: FirstRows[Way] = field(default_factory=first_ways)
    departures: Rows[LatestArrival] = field(default_factory=partial(Rows, LatestArrival))
    """Both of variants with outages that may cost publications."""
