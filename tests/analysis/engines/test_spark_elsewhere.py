"""Analyses on workers that share no files with the driver: the run is on a store, and nothing is mounted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.event_choice import EventTable
from analysis.tables.results import read_table
from tests.analysis.engines.spark_processes import ROOT, cluster_of_two, require_java
from tests.analysis.history import joined, write_run
from tests.object_store import object_store

PROGRAM = """
import sys
from pathlib import Path

from analysis.engines import RunningSpark
from analysis.engines.spark_session import open_session
from analysis.pipeline import analyze
from analysis.run_files.stores import copied_run
from analysis.tables.event_choice import EventTable
from record.errors import HostError

master, run, uri = sys.argv[1:]
with open_session(master) as session:
    engine = RunningSpark(session)
    try:
        analyze(Path(run), engine)
    except HostError as error:
        print(error)
    with copied_run(uri) as (directory, store):
        analyze(directory, engine, events=EventTable.ALL, store=store)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_java()
    directory = tmp_path_factory.mktemp("cluster")
    with cluster_of_two(directory, [tmp_path_factory.getbasetemp(), ROOT / "analysis"]) as master:
        yield master


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [joined("base").publish("P:1").notify("P:1").publish("P:2").notify("P:2")])


@pytest.mark.proof
@pytest.mark.spark
def test_workers_share_nothing_where_the_run_is_on_a_store(cluster: str, run: Path, tmp_path: Path) -> None:
    """The run's own directory is refused first, with the remedy."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "AWS_EC2_METADATA_DISABLED": "true"}
    with object_store() as store:
        command = [sys.executable, "-c", PROGRAM, cluster, str(run), store.hold(run, "runs/one")]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        there = store.fetch("runs/one", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert f"cannot open {run}/logs/driver.jsonl: mount the run directory there" in done.stdout
    assert "or copy it to a store and analyse it by its URI, such as s3://" in done.stdout
    assert not list((run / "results").iterdir())
    analyze(run, PlainEngine(), events=EventTable.ALL)
    assert (there / "summary.json").read_bytes() == (run / "summary.json").read_bytes()
    for row in (Notification, Expectation):
        rows = [sorted(map(str, read_table(found / "results", row))) for found in (there, run)]
        assert rows[0] == rows[1]
        assert rows[0]
    kinds = [{str(path.relative_to(found)) for path in found.rglob("event=*")} for found in (there, run)]
    assert kinds[0] == kinds[1]
