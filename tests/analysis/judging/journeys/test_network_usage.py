"""Usage of a small network by publications, by hand, and the same from both engines.

The routers r0, r1 and r2 are 10 and 20 ms apart; B1, B2 and B3 are at them, each over a LAN link of 1 ms. So B1 is
12 ms from B2 and 32 ms from B3, and B2 is 22 ms from B3. Merged paths from B1 to both take 33 ms: each link once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from analysis.engines import PlainEngine, RunningSpark
from analysis.judging.journeys.network import Network
from analysis.judging.journeys.network_usage import Usage, rows_of_usage, usage_of
from analysis.pipeline import analyze
from analysis.reading.event_table import EventTable
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.share_reader import ShareReader
from analysis.run_files.logs import RecordBlock
from analysis.tables.results import read_table, table_file
from analysis.tables.totals import Rows
from analysis.tables.traffic import NetworkUsage
from record.files import UNDERLAY
from record.log import Event, TraceRecord
from tests.analysis.history import History, write_run
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter
from topology.underlays.underlay_files import save_underlay

VARIANTS = ("first", "second", "bare")
BROKERS = ("B1", "B2", "B3")
LOGGED = LoggedVariants(
    numbers={name: number for number, name in enumerate(VARIANTS)},
    run_starts=(0, 0, 0),
    stops=(100, 100, 100),
    ends=(100, 100, 100),
    brokers=frozenset(BROKERS),
)
LINE = Underlay(
    routers=(UnderlayRouter(0, -1),) * 3,
    links=(RouterLink(0, 1, 0.010), RouterLink(1, 2, 0.020)),
    servers={"B3": 2, "B1": 0, "B2": 1},
    lan_delay=0.001,
)
NETWORK = Network(LINE, BROKERS)


def published(id: str, *copies: str, notified: Iterable[str] = (), variant: str = "first") -> list[TraceRecord]:
    """A publication at B1; a copy is two brokers, such as "B1 B2"."""
    records = [TraceRecord(time=1, node="B1", variant=variant, event=Event.RECEIVED, kind="publish", id=id, hops=0)]
    for copy in copies:
        sender, receiver = copy.split()
        for node, event, peer in ((sender, Event.SENT, receiver), (receiver, Event.RECEIVED, sender)):
            records.append(
                TraceRecord(time=2, node=node, variant=variant, event=event, kind="publish", id=id, peer=peer)
            )
    for broker in notified:
        records.append(
            TraceRecord(time=3, node="driver", variant=variant, event=Event.NOTIFIED, id=id, client="S", peer=broker)
        )
    return records


def tally_of(records: Iterable[TraceRecord]) -> Rows[Usage]:
    reader = ShareReader(LOGGED, buckets=1, link_buckets=1)
    reader.read(RecordBlock(0, list(records)), "log")
    return usage_of(EventTable.of(reader.events.blocks()), {0: NETWORK, 1: NETWORK})


def rows_of(records: Iterable[TraceRecord], *scales: float) -> list[NetworkUsage]:
    return list(rows_of_usage(tally_of(records), VARIANTS, scales or (1.0,) * 3))


def test_usage_is_that_of_copies_over_merged_paths() -> None:
    chain = published("P:1", "B1 B2", "B2 B3", notified=("B2", "B3"))
    star = published("P:2", "B1 B2", "B1 B3", notified=("B3", "B2", "B2"))
    (row,) = rows_of(chain + star)
    assert (row.variant, row.destinations, row.publications) == ("first", 2, 2)
    assert (row.usage_ms, row.ideal_ms) == ((34 + 44) / 2, 33.0)
    assert row.normalized == pytest.approx((34 + 44) / 2 / 33, abs=1e-8)


def test_the_mean_is_of_ratios() -> None:
    """To B2 alone the detour over B3 takes 54 ms instead of 12; to B3 alone the way over B2 34 instead of 32."""
    near, far = published("P:1", "B1 B3", "B3 B2", notified=["B2"]), published("P:2", "B1 B2", "B2 B3", notified=["B3"])
    (row,) = rows_of(near + far)
    assert row.normalized == pytest.approx((54 / 12 + 34 / 32) / 2, abs=1e-8)


def test_the_publishers_broker_is_no_destination() -> None:
    assert rows_of(published("P:1", "B1 B2", notified=["B1"])) == []
    (row,) = rows_of(published("P:1", "B1 B2", notified=["B1", "B2"]))
    assert (row.destinations, row.usage_ms, row.ideal_ms) == (1, 12.0, 12.0)


def test_each_variant_over_a_network_has_its_rows() -> None:
    """In the variant without a network nothing is measured; the same publication may go elsewhere in another one."""
    records = published("P:1", "B1 B2", notified=["B2"])
    records += published("P:1", "B1 B3", "B1 B2", notified=["B3", "B2"], variant="second")
    records += published("P:1", "B1 B2", notified=["B2"], variant="bare")
    found = [(row.variant, row.destinations, row.usage_ms) for row in rows_of(records)]
    assert found == [("first", 1, 12.0), ("second", 2, 44.0)]


def test_a_sample_stands_for_all_publications() -> None:
    """A publication that brokers did not log is known by its notification alone."""
    unlogged = published("P:2", notified=["B2"])[1:]
    (row,) = rows_of(published("P:1", "B1 B2", notified=["B2"]) + unlogged, 2.5, 1.0, 1.0)
    assert (row.publications, row.usage_ms) == (2, 12.0)


copies = st.lists(st.sampled_from([f"{a} {b}" for a in BROKERS for b in BROKERS if a != b]), max_size=4)
publications = st.lists(st.tuples(copies, st.sets(st.sampled_from(BROKERS)), st.sampled_from(VARIANTS)), max_size=6)


@given(publications)
def test_buckets_add_up_in_any_order(made: list[tuple[list[str], set[str], str]]) -> None:
    of_each = [
        published(f"P:{number}", *copies, notified=notified, variant=variant)
        for number, (copies, notified, variant) in enumerate(made)
    ]
    total = Rows(Usage)
    for records in reversed(of_each):
        for usage in tally_of(records):
            total.add(usage)
    whole = [record for records in of_each for record in records]
    assert list(rows_of_usage(total, VARIANTS, (1.0,) * 3)) == rows_of(whole)


class _OverNetwork(History):
    def manifest(self) -> dict[str, object]:
        return {**super().manifest(), "underlay": UNDERLAY}


def run_with(directory: Path, *histories: History) -> Path:
    run = write_run(directory, histories)
    save_underlay(LINE, run / UNDERLAY)
    return run


def history(kind: type[History]) -> History:
    """A publication that reaches a client at B3 over B2."""
    made = kind("base").advertise().subscribe().publish()
    made.receive(at=110.01).add("B1", Event.SENT, 110.02, id="P:1", kind="publish", peer="B2")
    return made.add("B2", Event.SENT, 110.03, id="P:1", kind="publish", peer="B3").notify()


def test_both_engines_write_the_same_file(spark: SparkSession, tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", history(_OverNetwork))
    file = run / "results" / table_file(NetworkUsage)
    analyze(run, PlainEngine())
    (row,) = read_table(run / "results", NetworkUsage)
    plain = file.read_bytes()
    assert (row.destinations, row.publications, row.usage_ms, row.ideal_ms) == (1, 1, 34.0, 32.0)
    assert row.normalized == 34 / 32
    analyze(run, RunningSpark(spark))
    assert file.read_bytes() == plain


def test_only_runs_over_a_network_have_the_table(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", history(History))
    (run / "results").mkdir()
    stale = run / "results" / table_file(NetworkUsage)
    stale.write_bytes(b"of an earlier analysis")
    analyze(run, PlainEngine())
    assert not stale.exists()
