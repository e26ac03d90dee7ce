"""Both engines write the same: on arbitrary logs, damaged ones included, and on a simulated run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from analysis.engines import Engine, PlainEngine, RunningSpark
from analysis.pipeline import analyze
from analysis.pipeline import judgement as pipeline
from analysis.tables.catalogue import OF_SOME_RUNS, TABLES
from analysis.tables.event_choice import EventTable
from analysis.tables.events import EVENTS
from analysis.tables.results import read_table, table_file
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.errors import RunDirectoryError
from record.log import Event, PredicateRecord, TraceRecord
from record.promises import Completeness, Loss, Order, Promises
from scenario.loading import load
from tests.analysis.diamond import DIAMOND
from tests.analysis.history import ADVERTISED, EXPENSIVE, SECOND, History, joined, write_run
from tests.analysis.oracle_cases_of_best_effort import EXPECTED
from tests.analysis.oracle_cases_of_crashes import CRASHES, TAILS
from tests.analysis.oracle_cases_of_detections import PAIR, RIGHT, WRONG
from tests.analysis.oracle_cases_of_gaps import GAPS, IN_ORDER, STARTS
from tests.analysis.oracle_cases_of_starts import ANNOUNCED_COMPOSITES, ANNOUNCEMENTS
from tests.proof import tried

pytestmark = pytest.mark.timeout(900)
"""Spark's workers wait for processors behind all others on a busy host."""

SCENARIO = """
name: ring
topology: {kind: ring, brokers: 5, link: {delay: 2ms..5ms, jitter: 10%, bandwidth: 200kbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 3, rate: 20/s}
  subscriptions: {subscribers: 6, selectivity: 20%}
timeline: {join: 4s, run: 6s, drain: 3s}
faults:
  - {at: run+1s, link_down: random-link, for: 500ms}
  - {at: run+3s, kill: random, for: 1s}
vary: {routing.publications: [fixed, dynamic]}
seed: 5
"""

clients = st.sampled_from(("P", "S", "T"))
nodes = st.sampled_from(("B1", "B2", "B3", "driver", "other"))
moments = st.integers(80 * SECOND, 180 * SECOND)
durations = st.none() | st.integers(0, SECOND)
predicates = st.sampled_from((ADVERTISED, EXPENSIVE, [PredicateRecord(attribute="price", operator="odd", number=1)]))
records = st.builds(
    TraceRecord,
    time=moments,
    node=nodes,
    variant=st.sampled_from(("first", "second", "third", "unheard of")),
    event=st.sampled_from(Event),
    kind=st.sampled_from(
        (None, "publish", "publish", "subscribe", "advertise", "unsubscribe", "control", "detection", "compose")
    ),
    id=st.sampled_from((None, "P:1", "P:2", "T:1", "s1", "ü")),
    client=st.none() | clients,
    peer=st.sampled_from((None, "B1", "B2", "B3", "B1-B2")),
    hops=st.none() | st.integers(0, 3),
    queue=st.none() | st.integers(0, 9),
    duration=durations,
    bytes=st.none() | st.integers(0, 500),
    count=st.none() | st.integers(0, 3),
    intended=st.none() | moments,
    text=st.sampled_from((None, "kill", "restart", "queue full", "full: composite s1", "[price,>,0]", PAIR)),
    numbers=st.none() | st.dictionaries(st.just("price"), st.sampled_from((1, 90.5, 2**60 + 1, 10**25))),
    strings=st.none() | st.just({"class": "STOCK"}),
    predicates=st.none() | predicates,
    publications=st.none() | st.lists(st.sampled_from(("P:1", "P:2", "T:1")), max_size=3),
)
promises = st.builds(
    Promises,
    order=st.sampled_from(Order),
    delivery=st.sampled_from(Completeness),
    survives=st.dictionaries(st.just("kill"), st.sampled_from(Loss)),
)
damage = st.lists(st.tuples(nodes, st.binary(max_size=20)), max_size=3)


@st.composite
def eventful(draw: st.DrawFn, name: str) -> History:
    """Clients that do as clients do, so that there is something to judge, among anything else."""
    history = joined(name, interrupted=draw(st.booleans()), promises=draw(promises))
    for number in range(draw(st.integers(0, 12))):
        at = 101 + draw(st.integers(0, 60))
        history.publish(f"P:{number}", at, price=draw(st.sampled_from((50, 100))))
        for _ in range(draw(st.integers(0, 2))):
            history.notify(f"P:{number}", client=draw(clients), at=at + draw(st.sampled_from((0.0, 0.5, 3.0))))
    return history


def results(
    directory: Path, engine: Engine, events: EventTable = EventTable.NONE
) -> tuple[bytes, dict[str, list[bytes]]]:
    """The summary and the rows of every table that the run has."""
    analyze(directory, engine, events=events)
    tables = {
        name: sorted(map(msgspec.json.encode, read_table(directory / "results", row)))
        for name, row in TABLES.items()
        if (directory / "results" / table_file(row)).exists()
    }
    if events is EventTable.ALL:
        rows = pq.read_table(directory / "results" / EVENTS).to_pylist()
        tables[EVENTS] = sorted(map(msgspec.json.encode, rows))
    return (directory / "summary.json").read_bytes(), tables


@settings(
    max_examples=tried(1),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large, HealthCheck.too_slow],
)
@given(data=st.data())
def test_arbitrary_logs(spark: SparkSession, tmp_path: Path, data: st.DataObject) -> None:
    histories = [data.draw(eventful(name)) for name in ("first", "second", "third")]
    lines = defaultdict(list)
    for record in data.draw(st.lists(records, max_size=150)):
        lines[record.node].append(msgspec.json.encode(record) + b"\n")
    for node, broken in data.draw(damage):
        lines[node].append(broken)
    directory = write_run(tmp_path / "run", histories)
    for node, written in lines.items():
        with (directory / "logs" / f"{node}.jsonl").open("ab") as file:
            file.writelines(written)
    try:
        plain = results(directory, PlainEngine(), EventTable.ALL)
        assert results(directory, RunningSpark(spark), EventTable.ALL) == plain
    finally:
        shutil.rmtree(directory)


@pytest.mark.proof
def test_promises_of_every_kind(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps are found by publisher, ratios over all of them, and detections by composite subscription. So the pieces
    must not matter."""
    cases = [*IN_ORDER, *GAPS, *STARTS, *ANNOUNCEMENTS, *TAILS, *CRASHES]
    detections = [*RIGHT, *WRONG, *ANNOUNCED_COMPOSITES]
    histories = [
        *(case.history for case in cases),
        *(history for history, _, _ in EXPECTED),
        *(case.history for case in detections),
    ]
    run = write_run(tmp_path / "run", histories, overlay=DIAMOND)
    whole = results(run, PlainEngine())
    assert whole[0].count(b"a later publication of its publisher came") >= 5
    assert b'"below expectation"' in whole[0]
    assert len(whole[1]["expected_detections"]) > len(detections)
    small_shares(monkeypatch.setattr)
    assert results(run, PlainEngine()) == whole
    assert results(run, RunningSpark(spark)) == whole


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = tmp_path_factory.mktemp("scenario") / "ring.yaml"
    scenario.write_text(SCENARIO)
    return simulate(make_plan(load(scenario)), tmp_path_factory.mktemp("runs")).directory


def small_shares(patch: Callable[[object, str, object], None]) -> None:
    """Many tasks and many buckets, as of a large run."""
    patch(pipeline, "SMALLEST_SHARE", 60_000)
    patch(pipeline, "LARGEST_SHARE", 120_000)
    patch(pipeline, "BUCKET_BYTES", 300_000)


def test_a_simulated_run_in_many_pieces(spark: SparkSession, simulated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = results(simulated, PlainEngine())
    assert b'"correct"' in whole[0]
    assert len(whole[1]["notifications"]) > 200
    assert len(whole[1]["faults"]) == 4
    assert any(b'"dropped":0' not in fault and b'"noticed":2' in fault for fault in whole[1]["faults"])
    small_shares(monkeypatch.setattr)
    assert results(simulated, PlainEngine()) == whole
    assert results(simulated, RunningSpark(spark)) == whole
    assert {path.name for path in (simulated / "results").iterdir()} == {
        f"{name}.parquet" for name, row in TABLES.items() if row not in OF_SOME_RUNS
    }


def test_what_goes_wrong_in_a_worker_is_told(spark: SparkSession, tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [joined("base")])
    (directory / "logs" / "driver.jsonl").write_bytes(b"what?\n")
    for engine in (PlainEngine(), RunningSpark(spark)):
        with pytest.raises(RunDirectoryError, match="no log holds a single record"):
            analyze(directory, engine)


def test_plain_python_is_plain(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [joined("base").publish().notify()])
    script = """
import sys
from pathlib import Path
from analysis.engines import PlainEngine
from analysis.report import build_report
from analysis.pipeline.run import analyze
from analysis.tables.event_choice import EventTable
analyze(Path(sys.argv[1]), PlainEngine(), events=EventTable.ALL)
build_report(Path(sys.argv[1]))
print([name for name in ("pyspark", "pandas") if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": "", "JAVA_HOME": ""},
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")
