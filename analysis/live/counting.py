"""The stage that judges a bucket of publications while the run goes on: what is new, and what still waits.

A publication is *under way* until every client's log has come `GRACE_SECONDS` further than its publishing. Then the
oracle judges it by all that is known so far. Where a client that must get it has not, it is *missing*, and judged again
with each batch: a queue may hold it, or a broker that is down. After `MISSING_SECONDS` it counts as lost. All else is
settled at once and forgotten, so that what is kept follows the rate of publishing and not the length of the run; what
comes later of it (a duplicate, say) is left to the final analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from analysis.engines.interface import Bucket, Output
from analysis.judging.journeys import Journey
from analysis.judging.judged import JudgedPublication
from analysis.judging.oracle import History, Oracle
from analysis.judging.publication_stage import judged_publication
from analysis.judging.publisher_stage import DeliveryCounts
from analysis.reading.publication_events import Notified, PublicationEvent, Published, by_publication, decode, encode
from analysis.run_files.time_units import SECOND
from analysis.tables.definitions import Right
from analysis.tables.histogram import DurationHistogram

GRACE_SECONDS = 5.0
MISSING_SECONDS = 120.0


class Settled(msgspec.Struct):
    """Of one variant, added up over the run so far."""

    published: int = 0
    notified: int = 0
    """As clients logged them, whether judged yet or not."""
    judged: int = 0
    rejected: int = 0
    counts: DeliveryCounts = msgspec.field(default_factory=DeliveryCounts)
    delays: DurationHistogram = msgspec.field(default_factory=DurationHistogram)

    def settle(self, journey: Journey, one: JudgedPublication) -> None:
        """Takes the verdict on a publication, for good."""
        self.judged += 1
        self.rejected += journey.rejected
        for outcome in one.outcomes:
            self.counts.add(outcome, overtaken=False, reordered=False)
            if outcome.receipts and one.intended is not None:
                self.delays.add(outcome.receipts[0].notified - one.intended)

    def merge(self, other: Settled) -> None:
        self.published += other.published
        self.notified += other.notified
        self.judged += other.judged
        self.rejected += other.rejected
        self.counts.merge(other.counts)
        self.delays.merge(other.delays)


class Open(msgspec.Struct):
    """Of one variant in one bucket, as it is now."""

    under_way: int = 0
    """Publications."""
    missing: int = 0
    """Notifications."""


@dataclass(slots=True)
class LiveTally:
    """What a batch adds, and how it leaves its buckets."""

    settled: dict[int, Settled] = field(default_factory=dict)
    """By variant."""
    open: dict[int, dict[int, Open]] = field(default_factory=dict)
    """By bucket and variant."""

    def merge(self, other: LiveTally) -> None:
        for variant, settled in other.settled.items():
            self.settled.setdefault(variant, Settled()).merge(settled)
        self.open |= other.open


@dataclass(frozen=True)
class LiveJudging:
    """Judges what is due of a bucket. What is not waits in a file of the bucket's own, a new one for each batch."""

    histories: Sequence[History]
    """By variant, as far as they are known."""
    heard_until: Sequence[int]
    """By variant: up to when every client's log was read."""
    waiting: str
    """The directory of these files."""
    before: Mapping[int, int]
    """The batch in which each bucket was last judged."""
    batch: int
    grace: int = round(GRACE_SECONDS * SECOND)
    give_up: int = round(MISSING_SECONDS * SECOND)

    @cached_property
    def _oracles(self) -> list[Oracle]:
        return [Oracle(history) for history in self.histories]

    def __call__(self, bucket: Bucket) -> Output[LiveTally]:
        tally = LiveTally(open={bucket.number: {}})
        known = by_publication(bucket.parts)
        for by_variant in known.values():
            for variant, sightings in by_variant.items():
                _count(sightings, tally.settled.setdefault(variant, Settled()))
        if (last := self.before.get(bucket.number)) is not None:
            for one in decode(waiting_file(self.waiting, bucket.number, last).read_bytes()):
                known.setdefault(one.publication, {}).setdefault(one.variant, []).append(one)
        waiting: list[PublicationEvent] = []
        for publication, by_variant in known.items():
            for variant, sightings in by_variant.items():
                open_ = tally.open[bucket.number].setdefault(variant, Open())
                if not self._settle(variant, publication, sightings, open_, tally):
                    waiting += sightings
        waiting_file(self.waiting, bucket.number, self.batch).write_bytes(encode(waiting))
        return Output(tally)

    def _settle(
        self, variant: int, publication: str, sightings: Sequence[PublicationEvent], open_: Open, tally: LiveTally
    ) -> bool:
        """Whether a publication is settled for good, or what there is of it too old to become anything."""
        journey = Journey.of(sightings)
        heard = self.heard_until[variant]
        if journey.published is None:
            return heard > journey.seen_last + self.give_up
        passed = heard - journey.published.time
        if passed < self.grace:
            open_.under_way += 1
            return False
        one = judged_publication(variant, publication, journey, self._oracles[variant].judge(journey))
        missing = sum(outcome.right is Right.MUST and not outcome.receipts for outcome in one.outcomes)
        if missing and passed < self.give_up:
            open_.missing += missing
            return False
        tally.settled.setdefault(variant, Settled()).settle(journey, one)
        return True


def waiting_file(directory: str | Path, bucket: int, batch: int) -> Path:
    """Where a bucket's sightings wait after a batch."""
    return Path(directory) / f"{bucket}-{batch}.waiting"


def _count(sightings: Iterable[PublicationEvent], settled: Settled) -> None:
    for one in sightings:
        if isinstance(one, Published):
            settled.published += 1
        elif isinstance(one, Notified):
            settled.notified += 1
