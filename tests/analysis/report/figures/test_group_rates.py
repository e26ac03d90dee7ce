"""Notifications a second of groups of subscribers: from notifications made by hand, and on the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.group_rates import group_rates, rates_figure
from analysis.report.page import render
from analysis.tables.timeline import PhaseTimes
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.time_units import SECOND
from scenario.loading import load

RUNNING = PhaseTimes(variant="v", phase="run", start_ns=10 * SECOND, end_ns=13 * SECOND, start_s=0.0, end_s=3.0)
GROUPS: list[dict[str, Any]] = [{"subscribers": 2, "topics": "1..5"}, {"subscribers": 1, "topics": None}]


def test_each_notification_counts_for_its_clients_group_and_its_second() -> None:
    rows = [("S1", 10.0), ("S2", 10.999), ("S3", 11.0), ("S2", 12.5), ("S3", 12.5), ("S1", 12.7)]
    others = [("S1", 9.999), ("S1", 13.0), ("S4", 11.0), ("reader", 11.0), ("Sue", 11.0)]
    found = group_rates("v", [batch(rows), batch(others)], GROUPS, RUNNING)
    assert list(found.groups) == ["S1 to S2, topics 1..5", "S3"]
    assert found.counts == [[2, 0, 2], [0, 1, 1]]
    figure = rates_figure(found)
    assert [list(line.y) for line in figure.data] == found.counts


def batch(rows: list[tuple[str, float]]) -> pa.RecordBatch:
    clients, times = zip(*rows, strict=True)
    return pa.record_batch({"client": clients, "notified_ns": [round(time * SECOND) for time in times]})


SCENARIO = """
name: groups
topology: {kind: line, brokers: 2, link: {delay: 1ms}}
routing: {protocol: tid}
workload:
  kind: topics
  publications: {topics: 2, rate: 10/s, placement: [B1]}
  subscriptions:
    - {subscribers: 3, topics: 1, placement: [B2]}
    - {subscribers: 2, topics: 2, placement: [B2], joins: 2s}
timeline: {join: 1s, run: 4s, drain: 1s}
"""


def test_the_page_shows_the_groups_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text(SCENARIO)
    run = simulate(make_plan(load(tmp_path / "groups.yaml")), tmp_path, calibration=Calibration.free()).directory
    analyze(run, PlainEngine())
    data = read_report_data(run)
    (rates,) = data.group_rates
    steady, late = rates.counts
    assert steady[1:] == [30, 30, 30]
    assert late[:2] == [0, 0]
    assert late[3] == 20
    assert "<h2>Notifications of each group of subscribers</h2>" in render(data)
