"""Lengths of routes, against a naive count over records in order of time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analysis.engines import PlainEngine
from analysis.judging.journeys.route_lengths import Copies, lengths, routes_of
from analysis.pipeline import analyze
from analysis.reading.event_table import EventTable
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.share_reader import ShareReader
from analysis.run_files.logs import RecordBlock
from analysis.tables.results import read_table, table_file
from analysis.tables.totals import Rows
from analysis.tables.traffic import RouteLength
from record.log import Event, TraceRecord
from tests.analysis.history import joined, write_run
from tests.analysis.oracle_cases_of_best_effort import tried

VARIANTS = ("first", "second")
LOGGED = LoggedVariants(
    numbers={name: number for number, name in enumerate(VARIANTS)},
    run_starts=(0, 0),
    stops=(100, 100),
    ends=(100, 100),
    brokers=frozenset({"B1", "B2", "B3"}),
)
arrivals = st.builds(
    TraceRecord,
    event=st.just(Event.RECEIVED),
    kind=st.just("publish"),
    variant=st.sampled_from(VARIANTS),
    id=st.sampled_from(["P:1", "P:2"]),
    node=st.sampled_from(["B1", "B2", "B3"]),
    peer=st.sampled_from([None, "B1", "B2"]),
    time=st.integers(0, 5),
    hops=st.integers(1, 3),
)


def tally_of(records: list[TraceRecord]) -> Rows[Copies]:
    reader = ShareReader(LOGGED, buckets=1, link_buckets=1)
    reader.read(RecordBlock(0, records), "log")
    return routes_of(EventTable.of(reader.events.blocks()))


def by_kind(tally: Rows[Copies]) -> Counter[tuple[int, int, bool]]:
    numbers = {
        (row.variant, row.hops, again): (row.first, row.repeated)[again] for row in tally for again in (False, True)
    }
    return +Counter(numbers)


def counted(records: list[TraceRecord]) -> Counter[tuple[int, int, bool]]:
    """The copies, counted record by record."""
    copies: Counter[tuple[int, int, bool]] = Counter()
    had: set[tuple[str, str | None, str]] = set()
    for record in sorted(records, key=lambda record: (record.time, record.hops or 0)):
        place = record.variant, record.id, record.node
        if record.peer is not None:
            copies[VARIANTS.index(record.variant), record.hops or 0, place in had] += 1
        had.add(place)
    return copies


@given(st.lists(arrivals, max_size=12, unique_by=lambda record: (record.variant, record.id, record.node, record.time)))
def test_routes_end_at_brokers_that_have_had_the_publication(records: list[TraceRecord]) -> None:
    assert by_kind(tally_of(records)) == counted(records)


@given(st.lists(arrivals, max_size=6), st.lists(arrivals, max_size=6))
def test_buckets_add_up(one: list[TraceRecord], other: list[TraceRecord]) -> None:
    total = tally_of(one)
    for copies in tally_of(other):
        total.add(copies)
    assert by_kind(total) == by_kind(tally_of(one)) + by_kind(tally_of(other))


def test_a_sample_stands_for_all_publications() -> None:
    fields: dict[str, Any] = {
        "variant": "second",
        "event": Event.RECEIVED,
        "kind": "publish",
        "id": "P:1",
        "peer": "B2",
        "hops": 2,
    }
    tally = tally_of([TraceRecord(time=time, node="B1", **fields) for time in range(3)])
    assert list(lengths(tally, VARIANTS, [1.0, 2.5])) == [RouteLength(variant="second", hops=2, first=2, repeated=5)]


def test_only_runs_with_best_effort_have_the_table(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "best effort",
        [tried("base").publish().add("B1", Event.RECEIVED, 110.02, id="P:1", kind="publish", peer="B2", hops=4)],
    )
    analyze(run, PlainEngine())
    assert read_table(run / "results", RouteLength) == [RouteLength(variant="base", hops=4, first=1, repeated=0)]
    other = write_run(tmp_path / "every", [joined("base").publish()])
    analyze(other, PlainEngine())
    assert not (other / "results" / table_file(RouteLength)).exists()
