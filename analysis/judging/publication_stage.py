"""Stage 2, by publication: the journey of each publication and the oracle's verdict on it, sorted by publisher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby

import pyarrow as pa

from analysis.engines.arrays import numbers_of, row_of
from analysis.judging.deliveries.doubles import moves_of
from analysis.judging.detections.events import COMPOSITE_PARTS, CompositeEventCollector
from analysis.judging.evidence.backlog import HANDLING
from analysis.judging.evidence.departures import LatestArrival, add_departures
from analysis.judging.evidence.ways import Way
from analysis.judging.histories.history import History
from analysis.judging.histories.settling import ALLOWANCE
from analysis.judging.journeys.journey import Journey, Journeys, arrival
from analysis.judging.journeys.notified_ways import WAYS
from analysis.judging.judged import JUDGED_PARTS, JudgedPublication, PublicationOutcome, judged_parts
from analysis.judging.oracle import Oracle, Verdict, expect, oracles_of
from analysis.judging.publication_figures import WantedFigures
from analysis.judging.publication_tally import PublicationTally
from analysis.judging.rights.duties import owing_subscriptions
from analysis.reading.event_table import EventTable
from analysis.reading.publication_events import bucket_of
from analysis.tables.deliveries import Right
from analysis.tables.totals import FirstRows, Rows
from record.sample import PublicationSample

CIRCLES = 4
"""A path is held up to this number of times as many brokers as the overlay has. A longer one goes in circles."""


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
    samples: Sequence[PublicationSample | None]
    """Publications that brokers logged, for each variant; None where they logged all."""
    undrained: Mapping[int, int]
    """The end of the drain phase of each variant in which messages were still in flight then."""
    buckets: int
    """Number of buckets of publishers."""
    composite_buckets: int = 1
    figures: WantedFigures | None = None
    """The figures that are made besides; None where nobody reads them."""

    @cached_property
    def _oracles(self) -> list[Oracle]:
        """Made by the worker that uses them, because an index of subscriptions is larger than the history it
        indexes."""
        return oracles_of(self.histories)

    def __call__(self, blocks: pa.Table) -> pa.Table:
        tally = PublicationTally()
        figures = None if self.figures is None else self.figures.of_bucket(self.histories, tally)
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
                if figures is not None:
                    figures.add(journey, journeys)
                if variant in self.undrained:
                    counts.oldest = max(counts.oldest, _age(journey, self.undrained[variant]))
                if self.histories[variant].losses:
                    _add_ways(journey, tally.ways)
                    self._add_departures(journey, journeys, tally.departures)
                verdict = self._oracles[variant].judge(journey)
                if journey.published is not None:
                    self._add_traces(verdict, journey, journeys)
                    composites.add(journey.published, verdict.matches, self.histories[variant])
                if verdict.judgements:
                    judged = judged_in[variant] = judged_publication(
                        journey, verdict, journeys, self.histories[variant]
                    )
                    by_publisher[bucket_of(judged.publisher or "", self.buckets)].append(judged)
            if figures is not None:
                figures.compare(judged_in)
        ways = WAYS.empty_table() if figures is None else figures.end(table, journeys, bucket)
        tally.parts_matched = composites.parts_matched
        parts = [row_of(judged_parts(by_publisher)), row_of(composites.parts(self.composite_buckets))]
        return pa.table([*tally.table().columns, *parts, row_of(ways)], schema=JUDGED)

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
