"""The ten questions of docs/tables.md, with the SQL as it stands there, asked of one small run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.query import Database, open_tables
from analysis.tables.event_choice import EventTable
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.documentation.log_reference import DOCS

SCENARIO = """
name: questions
topology: {kind: ring, brokers: 5, link: {delay: 2ms..5ms, bandwidth: 200kbit}}
routing: {protocol: tid, publications: fixed}
brokers: {service_time: 12ms}
workload:
  publications: {source: stocks, publishers: 3, rate: 20/s}
  subscriptions: {subscribers: 6, selectivity: 20%}
timeline: {join: 2s, run: 4s, drain: 2s}
faults:
  - {at: run+2500ms, kill: B5, for: 1s}
seed: 5
"""
QUESTIONS = re.findall(r"```sql\n(.*?)```", (DOCS / "tables.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = tmp_path_factory.mktemp("scenario") / "questions.yaml"
    scenario.write_text(SCENARIO)
    directory = simulate(make_plan(load(scenario)), tmp_path_factory.mktemp("runs")).directory
    analyze(directory, PlainEngine(), events=EventTable.ALL)
    return directory


@pytest.fixture(scope="module")
def answers(run: Path) -> Sequence[list[dict[str, Any]]]:
    with open_tables([run]) as database:
        return [_rows(database, sql) for sql in QUESTIONS]


def _rows(database: Database, sql: str) -> list[dict[str, Any]]:
    return [row for batch in database.answer(sql).batches for row in batch.to_pylist()]


def _logged(run: Path) -> Iterator[Mapping[str, Any]]:
    for file in (run / "logs").iterdir():
        yield from map(json.loads, file.read_text().splitlines())


def test_there_are_ten_and_each_has_an_answer(answers: Sequence[list[dict[str, Any]]]) -> None:
    assert [len(rows) > 0 for rows in answers] == [True] * 10


def test_the_slowest_journeys_begin_at_the_publisher_and_end_at_the_client(
    answers: Sequence[list[dict[str, Any]]],
) -> None:
    journeys: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in answers[0]:
        journeys.setdefault((row["publication"], row["client"]), []).append(row)
    assert len(journeys) == 10
    for hops in journeys.values():
        assert (hops[0]["event"], hops[-1]["event"]) == ("publish", "notified")
        assert hops[-1]["ms"] <= hops[0]["delay_ms"]
        at_brokers = [hop["node"] for hop in hops if hop["event"] == "received"]
        assert at_brokers
        assert hops[-1]["peer"] == at_brokers[-1]


def test_counts_are_those_of_the_log(run: Path, answers: Sequence[list[dict[str, Any]]]) -> None:
    records = list(_logged(run))
    phases = {
        phase["name"]: phase for phase in json.loads((run / "manifest.json").read_bytes())["variants"][0]["phases"]
    }
    start, end = phases["run"]["start"], phases["run"]["end"]
    sent = [record for record in records if record["event"] == "sent"]
    by_link = Counter((record["node"], record["peer"]) for record in sent if start <= record["time"] <= end)
    traffic: Counter[tuple[str, str]] = Counter()
    for row in answers[2]:
        traffic[row["source"], row["target"]] += row["messages"]
    assert traffic == by_link
    dropped = sum(record.get("count", 1) for record in records if record["event"] == "dropped")
    assert sum(row["messages"] for row in answers[4]) == dropped > 0
    published = [record for record in records if record["event"] == "publish"]
    assert sum(row["publications"] for row in answers[7]) == len(published)
    assert sum(row["volume"] for row in answers[7]) == sum(record["numbers"]["volume"] for record in published)
    assert sum(row["messages"] for row in answers[9]) == sum(record["time"] < start for record in sent)
