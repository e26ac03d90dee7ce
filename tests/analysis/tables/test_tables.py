"""Every table, from one small run whose numbers can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import RunDirectory, open_run
from analysis.tables.broker_work import MatchingLoad
from analysis.tables.catalogue import OF_SOME_RUNS, PARTITIONED, TABLES
from analysis.tables.delays import DelayByHops, DelayDistribution, DelayOverTime
from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.results import read_table
from analysis.tables.summary import Summary, read_summary
from analysis.tables.timeline import PhaseTimes
from analysis.tables.traffic import BrokerMessages, Drop, LinkLoad, QueueLength
from record.errors import RunDirectoryError
from record.log import Event
from record.manifest import MODELLED
from tests.analysis.history import SECOND, History, joined, write_run

MILLISECOND = 1_000_000


def forwarded(history: History, id: str, source: str, target: str, at: float, wait_ms: int, hops: int) -> None:
    """Sent at `at` after so long a wait, received 5 ms later."""
    message = {"id": id, "kind": "publish", "bytes": 100, "hops": hops}
    wait = wait_ms * MILLISECOND
    history.add(source, Event.SENT, at, peer=target, duration=wait, queue=wait_ms, **message)
    history.add(target, Event.RECEIVED, at + 0.005, peer=source, **message)


def published(history: History, id: str, at: float, late: float = 0.0) -> None:
    history.publish(id, at)
    history.records[-1].time += round(late * SECOND)
    history.add("B1", Event.RECEIVED, at + late, client="P", id=id, kind="publish", hops=0, bytes=90)
    history.add("B1", Event.MATCHED, at + late, id=id, kind="publish", count=1, duration=2 * MILLISECOND)


def reached(history: History, id: str, broker: str, at: float, hops: int, client: str = "S") -> None:
    history.add(broker, Event.DELIVERED, at, client=client, id=id, kind="publish", hops=hops)
    history.add("driver", Event.NOTIFIED, at + 0.001, client=client, id=id, peer=broker, hops=hops)


def fixed() -> History:
    """P:1 takes 1 hop with 1 ms of waiting, P:2 two hops with 1 + 3 ms, half a second late; P:3 ends in a drop."""
    history = joined("fixed")
    published(history, "P:1", 110)
    forwarded(history, "P:1", "B1", "B2", 110.001, 1, 1)
    reached(history, "P:1", "B2", 110.007, 1)
    published(history, "P:2", 111.5, late=0.5)
    forwarded(history, "P:2", "B1", "B2", 112.001, 1, 1)
    forwarded(history, "P:2", "B2", "B3", 112.010, 3, 2)
    reached(history, "P:2", "B3", 112.019, 2)
    published(history, "P:3", 120)
    history.add("B1", Event.DROPPED, 120, id="P:3", kind="publish", peer="B2", text="output queue full", count=1)
    for second, queue in ((121.2, 4), (121.7, 9), (122.1, 2)):
        history.add("B1", Event.QUEUE, second, peer="B2", queue=queue, count=1)
    history.add("B1", Event.QUEUE, 121.5, queue=50)  # waiting for service: no link
    return history


def dynamic() -> History:
    """P:1 arrives at B3 twice, over one hop for S and over two for T; of P:2 the log has lost a `sent`."""
    history = joined("dynamic").subscribe("T")
    published(history, "P:1", 110)
    forwarded(history, "P:1", "B1", "B3", 110.001, 1, 1)
    forwarded(history, "P:1", "B1", "B2", 110.004, 4, 1)
    forwarded(history, "P:1", "B2", "B3", 110.020, 6, 2)
    reached(history, "P:1", "B3", 110.028, 1)  # after both arrivals: only the hops tell by which
    reached(history, "P:1", "B3", 110.029, 2, client="T")
    published(history, "P:2", 111)
    forwarded(history, "P:2", "B1", "B2", 111.001, 1, 1)
    del history.records[-2]
    history.add("B2", Event.MATCHED, 111.1, id="P:2", kind="publish", count=1, duration=MILLISECOND)
    reached(history, "P:2", "B2", 111.009, 1)
    reached(history, "P:2", "B2", 111.009, 1, client="T")
    return history


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = tmp_path_factory.mktemp("tables") / "run"
    return open_run(write_run(directory, [fixed(), dynamic()], fidelity="DEGRADED", links=MODELLED))


@pytest.fixture(scope="module")
def summary(run: RunDirectory) -> Summary:
    return analyze(run.path, PlainEngine())


@pytest.fixture(scope="module")
def notifications(run: RunDirectory, summary: Summary) -> dict[tuple[str, str, str], Notification]:
    table = read_table(run.results, Notification)
    return {(row.variant, row.publication, row.client): row for row in table}


def test_a_notification_tells_its_delay_from_the_intended_time(
    notifications: dict[tuple[str, str, str], Notification],
) -> None:
    row = notifications["fixed", "P:2", "S"]
    assert row.delay_ms == pytest.approx(520.0)
    assert (row.intended_ns, row.published_ns, row.notified_ns) == (111_500_000_000, 112_000_000_000, 112_020_000_000)
    assert (row.publisher, row.broker, row.hops, row.repeat, row.second) == ("P", "B3", 2, 0, 11)


def test_a_way_is_followed_hop_by_hop(notifications: dict[tuple[str, str, str], Notification]) -> None:
    found = {key: (row.path, row.queueing_ms) for key, row in notifications.items()}
    assert found == {
        ("fixed", "P:1", "S"): (["B1", "B2"], 1.0),
        ("fixed", "P:2", "S"): (["B1", "B2", "B3"], 4.0),
        ("dynamic", "P:1", "S"): (["B1", "B3"], 1.0),
        ("dynamic", "P:1", "T"): (["B1", "B2", "B3"], 10.0),
        ("dynamic", "P:2", "S"): (None, None),
        ("dynamic", "P:2", "T"): (None, None),
    }


def test_expected(run: RunDirectory, summary: Summary) -> None:
    table = {
        (row.variant, row.publication, row.client): (row.right, row.notifications, row.defect)
        for row in read_table(run.results, Expectation)
    }
    assert table["fixed", "P:1", "S"] == ("must", 1, None)
    assert table["fixed", "P:3", "S"] == ("must", 0, "lost")
    assert len(table) == 7


def test_messages_and_links(run: RunDirectory, summary: Summary) -> None:
    messages = {(row.variant, row.broker): row for row in read_table(run.results, BrokerMessages)}
    assert messages["fixed", "B1"] == BrokerMessages(
        variant="fixed", broker="B1", kind="publish", from_clients=3, received=0, sent=2, delivered=0,
        received_bytes=270, sent_bytes=200,
    )  # fmt: skip
    assert (messages["fixed", "B2"].received, messages["fixed", "B2"].sent, messages["fixed", "B2"].delivered) == (
        2,
        1,
        1,
    )
    links = {(row.variant, row.source, row.target): row for row in read_table(run.results, LinkLoad)}
    assert links["fixed", "B2", "B3"] == LinkLoad(
        variant="fixed", source="B2", target="B3", messages=1, publications=1, bytes=100, max_queue=3,
        mean_wait_ms=3.0, max_wait_ms=3.0,
    )  # fmt: skip
    assert links["fixed", "B1", "B2"].messages == 2
    assert [(kind.kind, kind.from_clients, kind.received, kind.sent) for kind in summary.variants[0].messages] == [
        ("publish", 3, 3, 3)
    ]


def test_queues_keep_the_largest_of_each_second(run: RunDirectory, summary: Summary) -> None:
    table = read_table(run.results, QueueLength)
    assert sorted((row.second, row.queue, row.in_flight) for row in table) == [(21, 9, 1), (22, 2, 1)]


def test_delays(run: RunDirectory, summary: Summary) -> None:
    over_time = {(row.variant, row.second): row for row in read_table(run.results, DelayOverTime)}
    assert over_time["dynamic", 10].notifications == 2
    assert over_time["dynamic", 10].mean_ms == pytest.approx((29 + 30) / 2)
    assert over_time["dynamic", 10].max_ms == pytest.approx(30)
    by_hops = {(row.variant, row.hops): row for row in read_table(run.results, DelayByHops)}
    assert by_hops["fixed", 2].p50_ms == pytest.approx(520)
    assert by_hops["fixed", 2].queueing_share == pytest.approx(4 / 520)
    assert by_hops["dynamic", 1].queueing_share == pytest.approx(1 / 29), "only ways that are known count"
    for row in read_table(run.results, DelayDistribution):
        assert row.upper_ms == pytest.approx(row.lower_ms * 10**0.05)
        if row.variant == "fixed":
            assert any(row.lower_ms <= delay < row.upper_ms for delay in (8.0, 520.0))
    delay = summary.variants[0].delay
    assert (delay.notifications, delay.ways_known) == (2, 2)
    assert delay.mean_ms == pytest.approx(264)
    assert delay.p50_ms == pytest.approx(264), "interpolated between the two"
    assert delay.queueing_share == pytest.approx(5 / 528)


def test_matching_shows_where_content_is_compared(run: RunDirectory, summary: Summary) -> None:
    table = {(row.variant, row.broker): row for row in read_table(run.results, MatchingLoad)}
    assert table["fixed", "B1"].time_ms == pytest.approx(6.0)
    first, second = (variant.matching for variant in summary.variants)
    assert (first.operations, first.publication_messages, first.share) == (3, 6, 0.5)
    assert (first.most_brokers, first.at_several_brokers, first.per_publication) == (1, 0, 1.0)
    assert (second.most_brokers, second.at_several_brokers) == (2, 1)


def test_drops_and_phases(run: RunDirectory, summary: Summary) -> None:
    assert read_table(run.results, Drop) == [
        Drop(variant="fixed", node="B1", event="dropped", kind="publish", reason="output queue full", count=1)
    ]
    phases = [row for row in read_table(run.results, PhaseTimes) if row.variant == "fixed"]
    assert [(row.phase, row.start_s, row.end_s) for row in phases] == [
        ("join", -20.0, 0.0),
        ("run", 0.0, 60.0),
        ("drain", 60.0, 70.0),
    ]


def test_variants_are_compared_over_pairs(summary: Summary) -> None:
    compared = summary.comparison
    assert compared is not None
    assert (compared.reference, compared.variant, compared.pairs, compared.interval) == ("fixed", "dynamic", 2, None)
    assert compared.relative_difference == pytest.approx((29 + 10) / (8 + 520) - 1)


def test_the_summary_is_on_disk_as_returned(run: RunDirectory, summary: Summary) -> None:
    assert read_summary(run.path) == summary
    # fidelity.json says DEGRADED; that P:2 is published late, which cannot be in virtual time, is worse.
    assert (summary.fidelity, summary.variants[0].fidelity, summary.delivery) == ("INVALID", "INVALID", ["lost"])
    lost = summary.variants[0].delivery.examples[0]
    assert (lost.publication, lost.reached, lost.detail) == (
        "P:3",
        ["B1"],
        "dropped at B1: output queue full",
    )


def test_only_what_grows_with_messages_is_a_directory_and_nothing_else_is_left(
    run: RunDirectory, summary: Summary
) -> None:
    assert sorted(path.name for path in run.results.iterdir()) == sorted(
        f"{name}.parquet" for name, row in TABLES.items() if row not in OF_SOME_RUNS
    )
    divided = {name for name, row in TABLES.items() if row in PARTITIONED - OF_SOME_RUNS}
    assert {path.stem for path in run.results.iterdir() if path.is_dir()} == divided == {"notifications", "expected"}
    assert {path.name for path in run.path.iterdir()} == {
        "fidelity.json", "logs", "manifest.json", "results", "summary.json", "topology.json",
    }  # fmt: skip


def test_a_table_that_was_not_made_is_an_error_that_says_how(run: RunDirectory) -> None:
    with pytest.raises(RunDirectoryError, match="brokerlab analyze"):
        read_table(run.path / "elsewhere", Notification)


def test_a_table_that_is_damaged_or_of_another_version_is_an_error_that_says_how(
    run: RunDirectory, summary: Summary, tmp_path: Path
) -> None:
    table, results = "links.parquet", tmp_path / "results"
    message = rf"{table}: cannot be read: .*`brokerlab analyze {tmp_path}` makes it anew"
    results.mkdir()
    (results / table).write_bytes((run.results / "messages.parquet").read_bytes())
    with pytest.raises(RunDirectoryError, match=message):
        read_table(results, LinkLoad)
    (results / table).write_bytes(b"no table")
    with pytest.raises(RunDirectoryError, match=message):
        read_table(results, LinkLoad)


def test_what_waits_once_clients_leave_is_none_of_the_experiments(tmp_path: Path) -> None:
    history = joined("base").publish().notify()
    for at in (120, 171):
        history.add("B1", Event.QUEUE, at, peer="B2", queue=7, count=1)
    directory = write_run(tmp_path / "run", [history])
    manifest = msgspec.json.decode((directory / "manifest.json").read_bytes())
    manifest["variants"][0]["phases"].append({"name": "stop", "start": 170 * SECOND, "end": 175 * SECOND})
    (directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    analyze(directory, PlainEngine())
    assert [(row.second, row.queue) for row in read_table(directory / "results", QueueLength)] == [(20, 7)]
