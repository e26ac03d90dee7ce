"""Journeys of publications, from records in any order and in any shares of the logs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.journeys.journey import Journey, Journeys
from analysis.judging.judged import Receipt
from analysis.reading.event_table import EventTable
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.publication_events import EVENT_BLOCKS
from analysis.reading.share_reader import ShareReader
from analysis.run_files.logs import RecordBlock
from record.log import Event, TraceRecord
from tests.analysis.judging.journeys import naive_paths

VARIANTS = LoggedVariants(
    numbers={"first": 0, "second": 1},
    run_starts=(0, 0),
    stops=(100, 100),
    ends=(100, 100),
    brokers=frozenset({"B1", "B2", "B3"}),
)


def journeys_of(shares: Iterable[Sequence[TraceRecord]], longest: Sequence[int] = (100, 100)) -> Journeys:
    """The journeys that are logged in these shares, with paths up to `longest` brokers, by variant."""
    blocks = [EVENT_BLOCKS.empty_table()]
    for number, records in enumerate(shares):
        reader = ShareReader(VARIANTS, buckets=1, link_buckets=1)
        reader.read(RecordBlock(number * 1000, records), "log")
        blocks.append(reader.events.blocks())
    return Journeys(EventTable.of(pa.concat_tables(blocks)), longest)


def event(event: Event, node: str, time: int, **fields: Any) -> TraceRecord:
    fields = {"variant": "first", "kind": "publish", "id": "P:1"} | fields
    return TraceRecord(time=time, node=node, event=event, **fields)


def received(broker: str, neighbour: str | None, time: int, hops: int) -> TraceRecord:
    return event(Event.RECEIVED, broker, time, peer=neighbour, hops=hops)


def sent(broker: str, neighbour: str, time: int, waited: int | None) -> TraceRecord:
    return event(Event.SENT, broker, time, peer=neighbour, duration=waited)


def notified(broker: str, time: int, hops: int | None) -> TraceRecord:
    return event(Event.NOTIFIED, "driver", time, peer=broker, client="S", hops=hops)


RECORDS = [
    received("B1", None, 0, 0),
    sent("B1", "B2", 1, 10),
    received("B2", "B1", 5, 1),
    sent("B1", "B2", 9, 20),
    received("B2", "B1", 12, 1),
    sent("B2", "B3", 6, 100),
    received("B3", "B2", 15, 2),
    notified("B3", 20, 2),
    notified("B2", 11, 1),
    notified("B2", 13, 1),
    notified("B2", 30, None),
]


def receipts(journey: Journey) -> list[tuple[int, int | None, int | None, tuple[str, ...] | None]]:
    return [(got.notified, got.hops, got.waited, got.path) for got in journey.receipts.get("S", ())]


def test_a_copy_is_the_one_that_was_sent_last_before_it_came() -> None:
    for seed in range(20):
        shuffled = random.Random(seed).sample(RECORDS, len(RECORDS))
        (journey,) = journeys_of([shuffled[:4], shuffled[4:]])
        assert receipts(journey) == [
            (11, 1, 10, ("B1", "B2")),
            (13, 1, 20, ("B1", "B2")),
            (20, 2, 110, ("B1", "B2", "B3")),
            (30, 1, 20, ("B1", "B2")),
        ]
        assert journey.reached == ("B1", "B2", "B2", "B3")


def test_a_path_that_the_log_does_not_hold_is_unknown() -> None:
    kept = [record for record in RECORDS if (record.event, record.node) != (Event.SENT, "B2")]
    journeys = journeys_of([kept])
    (journey,) = journeys
    assert receipts(journey)[2] == (20, 2, None, None)
    assert journey.reached == ("B1", "B2", "B2", "B3")
    assert journeys.longest_paths(journey) == [("B1", "B2")]


def test_a_wait_that_was_not_logged_leaves_the_path() -> None:
    (journey,) = journeys_of(
        [[received("B1", None, 0, 0), sent("B1", "B2", 1, None), received("B2", "B1", 5, 1), notified("B2", 6, 1)]]
    )
    assert receipts(journey) == [(6, 1, None, ("B1", "B2"))]


def test_of_two_copies_sent_at_once_the_one_that_waited_longer_counts() -> None:
    for waits in ((10, 20), (20, 10)):
        copies = [sent("B1", "B2", 1, waited) for waited in waits]
        (journey,) = journeys_of(
            [[received("B1", None, 0, 0), *copies, received("B2", "B1", 5, 1), notified("B2", 6, 1)]]
        )
        assert receipts(journey) == [(6, 1, 20, ("B1", "B2"))]


def test_a_path_is_prolonged_by_one_link_at_a_time() -> None:
    (journey,) = journeys_of(
        [[received("B1", None, 0, 0), sent("B1", "B2", 1, 10), received("B2", "B1", 5, 2), notified("B2", 6, 2)]]
    )
    assert receipts(journey) == [(6, 2, None, None)]


brokers = st.sampled_from(("B1", "B2", "B3"))
logged = st.builds(
    event,
    st.sampled_from(
        (Event.RECEIVED, Event.RECEIVED, Event.SENT, Event.SENT, Event.NOTIFIED, Event.MATCHED, Event.DROPPED)
    ),
    brokers,
    st.integers(0, 6),
    variant=st.sampled_from(("first", "second")),
    id=st.sampled_from(("P:1", "P:2")),
    peer=st.none() | brokers,
    client=st.sampled_from(("S", "T")),
    hops=st.none() | st.integers(0, 3),
    duration=st.none() | st.integers(0, 9),
    text=st.sampled_from((None, "queue full")),
)


@given(st.lists(st.lists(logged, max_size=30), min_size=1, max_size=3))
def test_all_journeys_of_a_bucket_are_as_by_the_definition(shares: list[list[TraceRecord]]) -> None:
    journeys = journeys_of(shares)
    positions = {
        id(record): number * 1000 + line for number, share in enumerate(shares) for line, record in enumerate(share)
    }
    everything = sorted((record for share in shares for record in share), key=_journey)
    by_definition = {key: list(records) for key, records in groupby(everything, key=_journey)}
    found = {(journey.publication, VARIANTS_BY_NUMBER[journey.variant]): journey for journey in journeys}
    assert found.keys() == by_definition.keys()
    for key, records in by_definition.items():
        journey, paths = found[key], naive_paths.paths(records)
        assert journey.reached == tuple(naive_paths.reached(records))
        assert journey.seen_last == max(record.time for record in records)
        compared = [record for record in records if record.event is Event.MATCHED]
        assert journey.compared == len({record.node for record in compared})
        assert journey.matched_last == max((record.time for record in compared), default=0)
        assert Counter(journey.dropped) == Counter(
            (record.time, record.node, record.peer, record.text or "no reason given")
            for record in records
            if record.event is Event.DROPPED
        )
        assert list(journey.receipts) == sorted({record.client for record in records if record.event is Event.NOTIFIED})
        for client, got in journey.receipts.items():
            notifications = [record for record in records if (record.event, record.client) == (Event.NOTIFIED, client)]
            notifications.sort(key=lambda record: (record.time, positions[id(record)]))
            assert got == [_receipt(record, positions[id(record)], paths) for record in notifications]
        taken = {path.brokers for path in paths}
        assert journeys.longest_paths(journey) == sorted(
            brokers for brokers in taken if not any(brokers == longer[: len(brokers)] for longer in taken - {brokers})
        )


VARIANTS_BY_NUMBER = {number: name for name, number in VARIANTS.numbers.items()}


def _journey(record: TraceRecord) -> tuple[str, str]:
    return record.id or "", record.variant


def _receipt(record: TraceRecord, position: int, paths: list[naive_paths.NaivePath]) -> Receipt:
    path = naive_paths.path_of(record, paths)
    if path is None:
        return Receipt(record.peer, record.time, position, record.hops, None, None)
    hops = path.arrival.hops if record.hops is None else record.hops
    return Receipt(record.peer, record.time, position, hops, path.waited, path.brokers)
