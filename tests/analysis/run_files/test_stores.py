"""Runs on a store: the same results as here, whole or without a summary, and nothing left besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.pipeline import stages as analysis_stages
from analysis.run_files.stores import StoreFolder, copied_run, local_path
from analysis.tables.deliveries import Notification
from analysis.tables.event_choice import EventTable
from analysis.tables.partitions import publish_parts
from analysis.tables.results import read_table
from command_line.commands.analyze import analyze_run
from record.errors import BadInputError, RunDirectoryError
from record.exit_codes import ExitCode
from studies.verdict_files import VerdictFiles
from tests.analysis.history import joined, write_run
from tests.object_store import ObjectStore, object_store


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with object_store() as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path) -> Path:
    histories = [joined(name).publish("P:1").notify("P:1").publish("P:2").notify("P:2") for name in ("base", "a/b %")]
    return write_run(tmp_path / "run", histories)


def analyze_there(uri: str, events: EventTable = EventTable.ALL) -> None:
    with copied_run(uri) as (directory, folder):
        analyze(directory, PlainEngine(), events=events, store=folder)


def files_of(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}


def test_a_run_on_a_store_has_the_same_results(store: ObjectStore, run: Path) -> None:
    uri = store.hold(run, "runs/one")
    analyze_there(uri)
    analyze(run, PlainEngine(), events=EventTable.ALL)
    assert store.below("runs/one") == files_of(run)
    assert len(read_table(run / "results", Notification)) == 4


def test_the_command_takes_a_uri(store: ObjectStore, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze_run(store.hold(run, "one"), PlainEngine(), VerdictFiles()) is ExitCode.CORRECT
    assert "delivery: correct" in capsys.readouterr().out
    assert "one/results/events/variant=base/event=publish/part-000000.parquet" in store.objects


def test_another_analysis_replaces_all_of_the_former(store: ObjectStore, run: Path) -> None:
    uri = store.hold(run, "one")
    store.objects |= {
        "one/results/.parts-left/notifications.parquet/variant=base/part-000009.parquet": b"of one that was killed",
        "one/results/notifications.parquet/variant=gone/part-000000.parquet": b"of another run",
        "one/results/events/variant=base/event=sent/part-000000.parquet": b"of one with events",
        "one/results/spread.parquet": b"of one with movements",
    }
    analyze_there(uri, EventTable.NONE)
    analyze(run, PlainEngine())
    assert store.below("one") == files_of(run)


def test_a_run_has_no_summary_while_its_tables_are_replaced(
    store: ObjectStore, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = store.hold(run, "one")
    analyze_there(uri)
    assert "one/summary.json" in store.objects

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis_stages, "publish_events", killed)
    with pytest.raises(KeyboardInterrupt):
        analyze_there(uri)
    assert "one/summary.json" not in store.objects
    assert not [name for name in store.objects if ".parts-" in name]


def test_an_analysis_that_fails_before_leaves_the_former(store: ObjectStore, run: Path) -> None:
    uri = store.hold(run, "one")
    analyze_there(uri)
    former = store.below("one/results")
    store.objects["one/logs/driver.jsonl"] = b"damaged\n"
    with pytest.raises(RunDirectoryError, match=r"s3://bucket/one/logs: no log holds a single record"):
        analyze_there(uri)
    assert store.below("one/results") == former
    assert "one/summary.json" in store.objects


def test_parts_that_another_analysis_removed_are_missed(
    store: ObjectStore, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = store.hold(run, "one")
    publish = publish_parts

    def publish_late(parts: StoreFolder, row: type[Notification], *others: Any) -> int:
        for name in [name for name in store.objects if ".parts-" in name]:
            del store.objects[name]
        return publish(parts, row, *others)

    monkeypatch.setattr(analysis_stages, "publish_parts", publish_late)
    with pytest.raises(RunDirectoryError, match=r"^s3://bucket/one/results: .*another analysis"):
        analyze_there(uri)
    assert "one/summary.json" not in store.objects


def test_logs_are_read_by_parts_of_files(store: ObjectStore) -> None:
    store.objects["one/logs/B1.jsonl"] = b"".join(b"%d\n" % number for number in range(1000))
    logs = StoreFolder(store.uri("one")).below("logs")
    assert [(log.name, log.size) for log in logs.logs()] == [("B1.jsonl", 3890)]
    with logs.open("B1.jsonl") as file:
        file.seek(10)
        assert file.readline() == b"5\n"
        assert file.tell() == 12


def test_a_location_that_is_none_is_told() -> None:
    with pytest.raises(BadInputError, match=r"^ftp://host/run: Unrecognized"), copied_run("ftp://me:x@host/run"):
        pytest.fail("no run is opened")


def test_what_is_wrong_on_a_store_is_told_without_credentials(store: ObjectStore, run: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"^s3://bucket/none: not a run directory, it has no manifest.json"):
        analyze_there(store.uri("none"))
    uri = store.hold(run, "one")
    store.objects["one/manifest.json"] = b'{"format": 2, "run_id": 7}'
    with pytest.raises(RunDirectoryError, match=r"^s3://bucket/one/manifest.json: .*run_id"):
        analyze_there(uri)


def test_a_file_of_this_host_may_be_a_uri() -> None:
    assert local_path("file:///runs/a%20b") == Path("/runs/a b")
    assert local_path("runs/a:b") == Path("runs/a:b")
    assert local_path("hdfs://name/runs/a") is None
