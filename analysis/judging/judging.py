"""The second stage: each publication's journey and the oracle's verdict on it, sorted by publisher into buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import merge
from itertools import groupby

import msgspec

from analysis.engines.interface import Bucket, Output
from analysis.judging.fault_baseline import Baselines
from analysis.judging.faults import FaultTimes
from analysis.judging.journeys import Journey, Way, way_of
from analysis.judging.oracle import History, Judgement, Oracle, Verdict
from analysis.judging.router_work import WorkSamples, WorkTally
from analysis.reading.publication_events import Notified, bucket_of, by_publication
from analysis.run_files.phases import second_of
from analysis.tables.comparison import BLOCK_SECONDS, Block
from analysis.tables.tables import Cause, Right

_AT_ONCE = 64
"""Publications that are decoded together."""


class Receipt(msgspec.Struct, array_like=True, gc=False):
    """One notification of a client."""

    broker: str | None
    notified: int
    place: int
    """In the log of the client's node."""
    hops: int | None
    waited: int | None
    """In output queues; null when the log does not hold the whole way."""
    path: tuple[str, ...] | None


class Outcome(msgspec.Struct, array_like=True):
    """What a publication came to, for one client."""

    client: str
    right: Right
    cause: Cause | None
    receipts: list[Receipt]
    """In order of time."""


class Judged(msgspec.Struct, array_like=True):
    """One publication in one variant, of which some client may, must or did get something."""

    variant: int
    publication: str
    publisher: str | None
    intended: int | None
    published: int | None
    place: int
    """In the log of the publisher's node; 0 when nobody published it."""
    rejected: bool
    seen_last: int
    """When anything was last logged of it."""
    reached: tuple[str, ...]
    """The brokers it arrived at, in the order of links travelled."""
    tree: int | None
    """The advertisement whose tree it surely travels on."""
    outcomes: list[Outcome]
    drops: list[str]
    """Where and why copies of it ended; only where a client has lost it."""
    ways: list[tuple[str, ...]]
    """The ways it took, as far as each goes; only where a client has lost it."""


@dataclass(slots=True)
class PublicationCounts:
    """Over the publications of one variant."""

    published: int = 0
    rejected: int = 0
    compared: int = 0
    """Compared with subscriptions at some broker."""
    at_several_brokers: int = 0
    most_brokers: int = 0

    def add(self, journey: Journey) -> None:
        brokers = len({one.broker for one in journey.compared})
        self.published += journey.published is not None
        self.rejected += journey.published is not None and journey.rejected
        self.compared += brokers > 0
        self.at_several_brokers += brokers > 1
        self.most_brokers = max(self.most_brokers, brokers)

    def merge(self, other: PublicationCounts) -> None:
        self.published += other.published
        self.rejected += other.rejected
        self.compared += other.compared
        self.at_several_brokers += other.at_several_brokers
        self.most_brokers = max(self.most_brokers, other.most_brokers)


@dataclass(slots=True)
class JudgingTally:
    """What is counted while judging."""

    counts: dict[int, PublicationCounts] = field(default_factory=dict)
    """By variant."""
    blocks: dict[int | None, Block] = field(default_factory=dict)
    """Delays of the first two variants side by side."""
    baselines: Baselines = field(default_factory=Baselines)
    work: WorkTally = field(default_factory=WorkTally)

    def merge(self, other: JudgingTally) -> None:
        for variant, counts in other.counts.items():
            self.counts.setdefault(variant, PublicationCounts()).merge(counts)
        for number, block in other.blocks.items():
            self.blocks[number] = self.blocks.get(number, Block()) + block
        self.baselines.merge(other.baselines)
        self.work.merge(other.work)


@dataclass(frozen=True)
class Judging:
    """Judges a bucket of publications."""

    histories: Sequence[History]
    """By variant."""
    faults: Sequence[FaultTimes]
    """By variant."""
    buckets: int

    @cached_property
    def _oracles(self) -> list[Oracle]:
        """Made where they are used: an index of subscriptions is larger than what it is made from."""
        return [Oracle(history) for history in self.histories]

    def __call__(self, bucket: Bucket) -> Output[JudgingTally]:
        tally, work = JudgingTally(), WorkSamples()
        judged: list[list[Judged]] = [[] for _ in range(self.buckets)]
        for publication, by_variant in by_publication(bucket.parts).items():
            both: dict[int, Judged] = {}
            for variant, sightings in by_variant.items():
                journey = Journey.of(sightings)
                tally.counts.setdefault(variant, PublicationCounts()).add(journey)
                tally.baselines.add(variant, journey, self.faults[variant])
                work.add(variant, journey)
                verdict = self._oracles[variant].judge(journey)
                if verdict.judgements:
                    one = both[variant] = what_became(variant, publication, journey, verdict)
                    judged[bucket_of(one.publisher or "", self.buckets)].append(one)
            if 0 in both and 1 in both:
                self._pair(both[0], both[1], tally)
        tally.work = work.tally()
        return Output(tally, {number: encode_judged(part) for number, part in enumerate(judged) if part})

    def _pair(self, reference: Judged, variant: Judged, tally: JudgingTally) -> None:
        """Adds the delays that both variants have for the same client."""
        if reference.intended is None or variant.intended is None:
            return
        there = {one.client: one.receipts[0].notified for one in variant.outcomes if one.receipts}
        second = second_of(reference.intended, self.histories[reference.variant].run_start)
        number = None if second is None else second // BLOCK_SECONDS
        for one in reference.outcomes:
            if one.receipts and one.client in there:
                delays = one.receipts[0].notified - reference.intended, there[one.client] - variant.intended
                tally.blocks[number] = tally.blocks.get(number, Block()) + Block(1, *delays)


def encode_judged(judged: list[Judged]) -> bytes:
    """A part of a bucket of the next stage: sorted, and in pieces that can be decoded one after another."""
    judged.sort(key=_latest_first)
    encoder = msgspec.msgpack.Encoder()
    pieces = [encoder.encode(judged[start : start + _AT_ONCE]) for start in range(0, len(judged), _AT_ONCE)]
    return encoder.encode(pieces)


def decode_judged(parts: Iterable[memoryview]) -> Iterator[Judged]:
    """A bucket of the next stage, sorted: by variant and publisher, a publisher's latest publication first.

    However large the bucket, a few of each part are in memory at a time.
    """
    return merge(*map(_decode_part, parts), key=_latest_first)


def _decode_part(part: memoryview) -> Iterator[Judged]:
    decoder = msgspec.msgpack.Decoder(list[Judged])
    for piece in msgspec.msgpack.decode(part, type=list[memoryview]):
        yield from decoder.decode(piece)


def _latest_first(one: Judged) -> tuple[int, str, int, int, str]:
    return one.variant, one.publisher or "", -(one.published or 0), -one.place, one.publication


def what_became(variant: int, publication: str, journey: Journey, verdict: Verdict) -> Judged:
    """A publication's journey and the oracle's verdict on it, put together."""
    published = journey.published
    ways = journey.ways()
    receipts = {client: list(got) for client, got in groupby(journey.notified, lambda one: one.client)}
    outcomes = [_outcome(one, receipts.get(one.client, ()), ways) for one in verdict.judgements]
    lost = any(one.right is Right.MUST and not one.receipts for one in outcomes)
    return Judged(
        variant=variant,
        publication=publication,
        publisher=None if published is None else published.client,
        intended=None if published is None else published.intended,
        published=None if published is None else published.time,
        place=0 if published is None else published.place,
        rejected=journey.rejected,
        seen_last=journey.seen_last,
        reached=journey.reached,
        tree=verdict.tree,
        outcomes=outcomes,
        drops=sorted({f"{one.broker}: {one.reason}" for one in journey.dropped}) if lost else [],
        ways=_whole(ways) if lost else [],
    )


def _outcome(judgement: Judgement, got: Iterable[Notified], ways: list[Way]) -> Outcome:
    return Outcome(
        judgement.client, judgement.right, judgement.cause, [_receipt(one, way_of(one, ways)) for one in got]
    )


def _receipt(notified: Notified, way: Way | None) -> Receipt:
    if way is None:
        return Receipt(notified.broker, notified.time, notified.place, notified.hops, None, None)
    hops = way.hops if notified.hops is None else notified.hops
    return Receipt(notified.broker, notified.time, notified.place, hops, way.waited, way.path)


def _whole(ways: Iterable[Way]) -> list[tuple[str, ...]]:
    """Those that are not the beginning of another."""
    paths = {way.path for way in ways}
    begun = {path[:length] for path in paths for length in range(1, len(path))}
    return sorted(paths - begun)
