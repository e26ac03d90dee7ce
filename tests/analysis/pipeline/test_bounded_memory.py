"""The code that keeps a large run out of memory gives the same results as the simple way."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections import defaultdict

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.judged import JUDGED_PARTS, JudgedPublication, decode_judged, judged_parts
from analysis.reading.gauges import Queue, QueueReadings
from analysis.reading.intervals import FOREVER
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.share_reader import ShareReader
from analysis.run_files.logs import RecordBlock
from record.log import Event, TraceRecord
from tests.analysis.rows import judged

publications = st.builds(
    judged,
    variant=st.integers(0, 2),
    publication=st.integers(0, 10**6).map(str),
    publisher=st.sampled_from((None, "P", "Q")),
    published=st.none() | st.integers(1, 5),
    position=st.integers(0, 3),
)
seconds = st.integers(-3, 3)
queues = st.builds(Queue, st.integers(0, 1), st.sampled_from(("B1", "B2")), st.sampled_from(("B3", "B4")))
shown = st.lists(st.lists(st.tuples(queues, seconds, st.integers(0, 9), st.integers(0, 9)), max_size=20), max_size=4)


def naive_order(judged: JudgedPublication) -> tuple[int, str, int, int, str]:
    """Sort key: variant, then publisher, then the latest publication first."""
    return judged.variant, judged.publisher or "", -(judged.published or 0), -judged.position, judged.publication


def part_of(publications: list[JudgedPublication]) -> pa.Table:
    """The publications in a bucket of their own."""
    return judged_parts([[], publications])


@given(st.lists(st.lists(publications, max_size=200), max_size=5))
def test_parts_of_a_bucket_are_merged_in_order(parts: list[list[JudgedPublication]]) -> None:
    everything = sorted((publication for part in parts for publication in part), key=naive_order)
    assert list(decode_judged(pa.concat_tables([JUDGED_PARTS.empty_table(), *map(part_of, parts)]))) == everything


def test_a_bucket_is_not_decoded_at_once() -> None:
    path = tuple(f"B{number}" for number in range(30))
    parts = [
        part_of([judged(publication=f"{part}:{number}", published=number, reached=path) for number in range(2_000)])
        for part in range(4)
    ]
    gc.collect()
    tracemalloc.start()
    count = sum(1 for _ in decode_judged(pa.concat_tables(parts)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8_000
    assert peak < sum(part.nbytes for part in parts)  # decoded, they are ten times as large


@given(shown)
def test_gauges_keep_the_largest_of_a_second(shares: list[list[tuple[Queue, int, int, int]]]) -> None:
    known: dict[tuple[Queue, int], list[tuple[int, int]]] = defaultdict(list)
    merged = QueueReadings()
    for share in shares:
        gauges = QueueReadings()
        for queue, second, waiting, in_flight in share:
            gauges.show(queue, second, waiting, in_flight)
            known[queue, second].append((waiting, in_flight))
        for row in gauges:
            merged.add(row)
    expected = [
        (queue, second, max(waiting for waiting, _ in values), max(in_flight for _, in_flight in values))
        for (queue, second), values in sorted(known.items())
    ]
    assert list(merged.largest()) == expected


def test_events_of_a_share_are_freed_without_garbage_collection() -> None:
    """Garbage is not collected while stages run, so a cycle would keep the events of every share that was read."""
    variants = LoggedVariants({"base": 0}, run_starts=(0,), stops=(FOREVER,), ends=(FOREVER,), brokers=frozenset())
    reader = ShareReader(variants, 1, 1)
    kinds = Event.NOTIFIED, Event.PUBLISH, Event.SUBSCRIBE, Event.QUEUE
    records = [TraceRecord(time=1, node="D", variant="base", event=event, client="C", id="x") for event in kinds]
    gc.disable()
    try:
        reader.read(RecordBlock(0, records), "D.jsonl")
        assert reader.tally().records == len(records)
        assert reader.events.blocks().num_rows == 1
        events = weakref.ref(reader.events)
        del reader
        assert events() is None
    finally:
        gc.enable()
