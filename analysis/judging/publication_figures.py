"""Figures of publications that reports show and verdicts do not need: delays before faults and against other variants,
routers' work, the use of links, and the ways of notifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from analysis.judging.histories.faults import FaultTimes
from analysis.judging.histories.history import History
from analysis.judging.journeys.causes import leads_of
from analysis.judging.journeys.issued import issued_of
from analysis.judging.journeys.journey import Journey, Journeys
from analysis.judging.journeys.network import Network
from analysis.judging.journeys.network_usage import usage_of
from analysis.judging.journeys.notified_ways import Sites, ways_of
from analysis.judging.journeys.route_lengths import routes_of
from analysis.judging.journeys.router_work import WorkSamples
from analysis.judging.journeys.spread import add_spread
from analysis.judging.judged import JudgedPublication
from analysis.judging.publication_tally import PublicationTally
from analysis.reading.event_table import EventTable
from analysis.run_files.blocks import Blocks
from analysis.run_files.time_units import second_of
from record.promises import Completeness


@dataclass(frozen=True)
class WantedFigures:
    """Facts that stage 2 needs for its figures."""

    faults: Sequence[FaultTimes]
    """Times of each variant's faults."""
    resampled: Blocks
    """Blocks of the first variant, with which the others are compared."""
    changing: frozenset[int] = frozenset()
    """Variants whose overlay changes."""
    networks: Mapping[int, Network] = field(default_factory=dict)
    """Networks of routers under the overlays, by variant; without those that have none."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """The numbers of brokers and drivers in the ways of notifications."""
    sites: Sites = field(default_factory=dict)

    def of_bucket(self, histories: Sequence[History], tally: PublicationTally) -> PublicationFigures:
        """The figures of a bucket of publications, which come into its tally."""
        return PublicationFigures(self, histories, tally)


class PublicationFigures:
    """Makes the figures of one bucket."""

    def __init__(self, wanted: WantedFigures, histories: Sequence[History], tally: PublicationTally) -> None:
        self._wanted = wanted
        self._histories = histories
        self._tally = tally
        self._work = WorkSamples()

    def add(self, journey: Journey, journeys: Journeys) -> None:
        """Counts a publication in one variant."""
        wanted, variant = self._wanted, journey.variant
        if variant in wanted.changing and journey.logged:
            add_spread(journey, journeys, self._tally.spread)
        self._tally.baselines.add(variant, journey, wanted.faults[variant])
        if journeys.measured:
            self._work.add(variant, *journeys.work(journey))

    def compare(self, judged: Mapping[int, JudgedPublication]) -> None:
        """Adds the delays of one publication in the first variant and in each other one, given it by variant."""
        reference = judged.get(0)
        if reference is None:
            return
        for variant, other in judged.items():
            if variant:
                self._pair(reference, other)

    def end(self, table: EventTable, journeys: Journeys, bucket: int) -> pa.Table:
        """Adds what is counted of all publications together. Returns the ways of their notifications."""
        wanted, tally = self._wanted, self._tally
        tally.work = self._work.rows()
        if any(history.promises.delivery is Completeness.BEST_EFFORT for history in self._histories):
            tally.routes = routes_of(table)
        tally.causes, tally.issued = leads_of(table), issued_of(table)
        tally.usage = usage_of(table, wanted.networks)
        return ways_of(table, journeys, wanted.nodes, bucket, wanted.sites)

    def _pair(self, reference: JudgedPublication, variant: JudgedPublication) -> None:
        """Adds the delays that both variants have for the same client."""
        if reference.intended is None or variant.intended is None:
            return
        notified = {outcome.client: outcome.receipts[0].notified for outcome in variant.outcomes if outcome.receipts}
        second = second_of(reference.intended, self._histories[reference.variant].run_start)
        number = self._wanted.resampled.number(second)
        for outcome in reference.outcomes:
            if outcome.receipts and outcome.client in notified:
                block = self._tally.blocks.of(variant.variant, number)
                block.pairs += 1
                block.reference += outcome.receipts[0].notified - reference.intended
                block.variant += notified[outcome.client] - variant.intended
