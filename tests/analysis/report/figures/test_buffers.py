"""Buffers of routers and the time at the horizon: from rows made by hand, and on the page of a run with a crash."""

from __future__ import annotations

from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.buffers import buffers_figure, horizon_figure
from analysis.report.page import render
from analysis.tables.buffers import BufferSize
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load


def size(
    broker: str, second: int, bytes: int = 0, buffer: str = "log", notified: int = 0, wait: float = 0
) -> BufferSize:
    return BufferSize(
        variant="v", broker=broker, buffer=buffer, second=second, bytes=bytes, publications=1, notified=notified,
        mean_wait_ms=wait if notified else None,
    )  # fmt: skip


def test_a_line_shows_the_fullest_buffer_of_a_name() -> None:
    rows = [
        size("B1", 0, 1000),
        size("B2", 0, 3000),
        size("B1", 2, 500),
        size("B1", -1, 9000),
        size("B1", 1, 7, "cache"),
    ]
    cache, log = buffers_figure(rows).data
    assert (cache.name, list(cache.y)) == ("cache", [0.0, 0.007, 0.0])
    assert (log.name, list(log.y)) == ("log", [3.0, 0.0, 0.5])
    assert list(log.customdata) == [" at B2, 1 publication", "", " at B1, 1 publication"]


def test_the_time_at_the_horizon_is_that_of_a_publication() -> None:
    rows = [size("B1", 0, notified=3, wait=2.0), size("B2", 0, notified=1, wait=6.0), size("B1", 1)]
    (line,) = horizon_figure(rows, ["v", "w"]).data
    assert (list(line.x), list(line.y), list(line.customdata)) == ([0], [3.0], [4])


SCENARIO = """
name: buffers
topology: {kind: redundant-tree, tree: [[pb, A], [A, s1]], replicas: 2, link: {delay: 8ms}}
routing: {protocol: gryphon, paths: message}
workload:
  kind: topics
  publications: {topics: 1, rate: 400/s, placement: [pb]}
  subscriptions: [{subscribers: 2, placement: [s1]}]
timeline: {join: 1s, run: 4s, drain: 1s}
faults: [{at: run+1.5s, kill: A1, for: 1s}]
"""


def test_a_crash_holds_publications_back(tmp_path: Path) -> None:
    (tmp_path / "buffers.yaml").write_text(SCENARIO)
    plan = make_plan(load(tmp_path / "buffers.yaml"))
    run = simulate(plan, tmp_path, calibration=Calibration.free()).directory
    analyze(run, PlainEngine())
    data = read_report_data(run)
    waits = {row.second: row.mean_wait_ms for row in data.buffers if (row.broker, row.buffer) == ("s1", "reorder")}
    assert waits[0] == 0.0
    assert max(waits[second] or 0.0 for second in (1, 2)) > 1.0
    logs = [row.bytes for row in data.buffers if (row.broker, row.buffer) == ("pb", "log") and row.second >= 0]
    assert len(logs) >= 4
    assert all(logs)
    assert "<h2>Time at the horizon</h2>" in render(data)
