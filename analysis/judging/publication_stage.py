"""Stage 2, by publication: the journey of each publication and the oracle's verdict on it, sorted by publisher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, groupby

import msgspec
import pyarrow as pa

from analysis.engines.arrays import numbers_of, row_of
from analysis.judging.deliveries.doubles import moves_of
from analysis.judging.detections.events import COMPOSITE_PARTS, CompositeEventCollector, PartOfComposite
from analysis.judging.evidence.backlog import HANDLING
from analysis.judging.evidence.departures import LatestArrival, add_departures
from analysis.judging.evidence.ways import Way, first_ways
from analysis.judging.fault_effects.baseline import Baselines
from analysis.judging.histories.faults import FaultTimes
from analysis.judging.histories.history import History
from analysis.judging.histories.settling import ALLOWANCE
from analysis.judging.journeys.causes import Lead, leads_of
from analysis.judging.journeys.issued import Issued, issued_of
from analysis.judging.journeys.journey import Journey, Journeys, arrival
from analysis.judging.journeys.network import Network
from analysis.judging.journeys.network_usage import Usage, usage_of
from analysis.judging.journeys.notified_ways import WAYS, Sites, ways_of
from analysis.judging.journeys.route_lengths import Copies, routes_of
from analysis.judging.journeys.router_work import Work, WorkSamples
from analysis.judging.journeys.spread import SpreadSample, add_spread, spread_sample
from analysis.judging.judged import JUDGED_PARTS, JudgedPublication, PublicationOutcome, judged_parts
from analysis.judging.oracle import Oracle, Verdict, expect, oracles_of
from analysis.judging.rights.duties import owing_subscriptions
from analysis.reading.event_table import EventTable
from analysis.reading.publication_events import bucket_of
from analysis.run_files.blocks import Blocks
from analysis.run_files.time_units import second_of
from analysis.tables.comparison import DelayBlock
from analysis.tables.deliveries import Right
from analysis.tables.totals import FirstRows, Largest, Rows, Sum, Tally
from record.promises import Completeness
from record.sample import PublicationSample

CIRCLES = 4
"""A path is held up to this number of times as many brokers as the overlay has. A longer one goes in circles."""


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


JUDGED = pa.schema(
    [
        *PublicationTally().schema(),
        ("publications", pa.list_(pa.struct(list(JUDGED_PARTS)))),
        ("composites", pa.list_(pa.struct(list(COMPOSITE_PARTS)))),
        ("notified_ways", pa.list_(pa.struct(list(WAYS)))),
    ]
)
"""The results of stage 2 for a bucket: its tally, and parts for the buckets of stage 3."""


@dataclass(frozen=True)
class PublicationStage:
    """Judges a bucket of publications."""

    histories: Sequence[History]
    """History of each variant."""
    faults: Sequence[FaultTimes]
    """Times of each variant's faults."""
    samples: Sequence[PublicationSample | None]
    """Publications that brokers logged, for each variant; None where they logged all."""
    resampled: Blocks
    """Blocks of the first variant, with which the others are compared."""
    undrained: Mapping[int, int]
    """The end of the drain phase of each variant in which messages were still in flight then."""
    buckets: int
    """Number of buckets of publishers."""
    composite_buckets: int = 1
    changing: frozenset[int] = frozenset()
    """Variants whose overlay changes."""
    networks: Mapping[int, Network] = field(default_factory=dict)
    """Networks of routers under the overlays, by variant; without those that have none."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """The numbers of brokers and drivers in the ways of notifications."""
    sites: Sites = field(default_factory=dict)

    @cached_property
    def _oracles(self) -> list[Oracle]:
        """Made by the worker that uses them, because an index of subscriptions is larger than the history it
        indexes."""
        return oracles_of(self.histories)

    def __call__(self, blocks: pa.Table) -> pa.Table:
        tally, work = PublicationTally(), WorkSamples()
        by_publisher: list[list[JudgedPublication]] = [[] for _ in range(self.buckets)]
        bucket, table = int(numbers_of(blocks.column("bucket"))[0]), EventTable.of(blocks)
        composites = CompositeEventCollector(table)
        expect(self._oracles, chain.from_iterable(table.published))
        journeys = Journeys(table, [CIRCLES * len(history.overlay.brokers) for history in self.histories])
        for _, of_publication in groupby(journeys, lambda journey: journey.publication):
            judged_in: dict[int, JudgedPublication] = {}
            for journey in of_publication:
                variant = journey.variant
                sample = self.samples[variant]
                journey.logged = sample is None or sample.holds(journey.publication)
                counts = tally.counts.of(variant)
                counts.add(journey)
                if variant in self.changing and journey.logged:
                    add_spread(journey, journeys, tally.spread)
                tally.baselines.add(variant, journey, self.faults[variant])
                if variant in self.undrained:
                    counts.oldest = max(counts.oldest, _age(journey, self.undrained[variant]))
                if self.histories[variant].losses:
                    _add_ways(journey, tally.ways)
                    self._add_departures(journey, journeys, tally.departures)
                if journeys.measured:
                    work.add(variant, *journeys.work(journey))
                verdict = self._oracles[variant].judge(journey)
                if journey.published is not None:
                    self._add_traces(verdict, journey, journeys)
                    composites.add(journey.published, verdict.matches, self.histories[variant])
                if verdict.judgements:
                    judged = judged_in[variant] = judged_publication(
                        journey, verdict, journeys, self.histories[variant]
                    )
                    by_publisher[bucket_of(judged.publisher or "", self.buckets)].append(judged)
            if (reference := judged_in.pop(0, None)) is not None:
                for judged in judged_in.values():
                    self._pair(reference, judged, tally)
        tally.work = work.rows()
        if any(history.promises.delivery is Completeness.BEST_EFFORT for history in self.histories):
            tally.routes = routes_of(table)
        tally.causes, tally.issued = leads_of(table), issued_of(table)
        tally.usage = usage_of(table, self.networks)
        tally.parts_matched = composites.parts_matched
        parts = [row_of(judged_parts(by_publisher)), row_of(composites.parts(self.composite_buckets))]
        parts.append(row_of(ways_of(table, journeys, self.nodes, bucket, self.sites)))
        return pa.table([*tally.table().columns, *parts], schema=JUDGED)

    def _add_departures(self, journey: Journey, journeys: Journeys, departures: Rows[LatestArrival]) -> None:
        """Adds a publication that was on its way shortly before outages."""
        published = journey.published
        if published is None:
            return
        losses = self.histories[journey.variant].losses
        begins = {loss.begin for loss in losses if published.time < loss.begin <= journey.seen_last + HANDLING}
        if begins:
            add_departures(departures, journey.variant, begins, journeys.steps(journey))

    def _add_traces(self, verdict: Verdict, journey: Journey, journeys: Journeys) -> None:
        """Adds the records of a publication's copies to its matches: all of them where a fault may have cost one or it
        may still have been on its way at the end, and else where it was last on its way to the client."""
        history = self.histories[journey.variant]
        if not verdict.matches:
            return
        needs_all = history.losses or journey.variant in self.undrained
        steps = journeys.steps(journey) if needs_all else []
        for match in verdict.matches:
            match.steps = steps if needs_all else arrival(journey, history.lifetimes[match.lifetime].broker)
            match.tree, match.logged = verdict.tree, journey.logged

    def _pair(self, reference: JudgedPublication, variant: JudgedPublication, tally: PublicationTally) -> None:
        """Adds the delays that both variants have for the same client."""
        if reference.intended is None or variant.intended is None:
            return
        notified = {outcome.client: outcome.receipts[0].notified for outcome in variant.outcomes if outcome.receipts}
        second = second_of(reference.intended, self.histories[reference.variant].run_start)
        number = self.resampled.number(second)
        for outcome in reference.outcomes:
            if outcome.receipts and outcome.client in notified:
                block = tally.blocks.of(variant.variant, number)
                block.pairs += 1
                block.reference += outcome.receipts[0].notified - reference.intended
                block.variant += notified[outcome.client] - variant.intended


def _add_ways(journey: Journey, ways: FirstRows[Way]) -> None:
    for receipts in journey.receipts.values():
        for receipt in receipts:
            if receipt.path is not None:
                ways.add(Way.of(journey.variant, receipt.path))


def _age(journey: Journey, end: int) -> int:
    """The longest delay of the publication's notifications that came shortly before the end; 0 without any."""
    if journey.published is None:
        return 0
    published = journey.published.time
    times = (receipt.notified for receipts in journey.receipts.values() for receipt in receipts[:1])
    return max((notified - published for notified in times if notified >= end - ALLOWANCE), default=0)


def judged_publication(journey: Journey, verdict: Verdict, journeys: Journeys, history: History) -> JudgedPublication:
    """A publication's journey and the oracle's verdict on it, put together."""
    published = journey.published
    outcomes = [
        PublicationOutcome(
            judgement.client,
            judgement.right,
            judgement.cause,
            journey.receipts.get(judgement.client, []),
            judgement.proves,
            judgement.broker,
            judgement.doubt,
            duties=list(judgement.duties),
        )
        for judgement in verdict.judgements
    ]
    for outcome in outcomes:
        if outcome.receipts and history.stays.of(outcome.client):
            moves, got = moves_of(history, outcome.client), [(one.broker, one.notified) for one in outcome.receipts]
            outcome.doubled = len(got) > 1 and moves.may_double(got)
            outcome.handovers = moves.reordering(got[0])
    missing = [outcome for outcome in outcomes if not outcome.receipts and _is_owed(outcome)]
    lost = bool(missing)
    if lost:
        owing = owing_subscriptions(verdict.found)
        for outcome in missing:
            outcome.subscriptions = owing.get(outcome.client, [])
    return JudgedPublication(
        variant=journey.variant,
        publication=journey.publication,
        publisher=None if published is None else published.client,
        intended=None if published is None else published.intended,
        published=None if published is None else published.time,
        position=0 if published is None else published.position,
        origin=None if published is None else published.broker,
        rejected=journey.rejected,
        seen_last=journey.seen_last,
        reached=tuple(journey.reached),
        tree=verdict.tree,
        outcomes=outcomes,
        drops=sorted({f"{drop.broker}: {drop.reason}" for drop in journey.dropped}) if lost else [],
        paths=journeys.longest_paths(journey) if lost else [],
        steps=journeys.steps(journey) if lost else [],
        logged=journey.logged,
    )


def _is_owed(outcome: PublicationOutcome) -> bool:
    return outcome.right in (Right.MUST, Right.DUE) or outcome.doubt is not None or bool(outcome.duties)
