"""Start latencies: from rows made by hand, and on the page of a run."""

from __future__ import annotations

from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.starts import StartRow, start_rows, starts_figure
from analysis.report.page import render
from analysis.tables.starts import Start
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load


def start(latency_ms: float | None, farthest: int = 2, due_ns: int | None = None, variant: str = "v") -> Start:
    return Start(
        variant=variant, client="S", subscription="s", broker="B1", farthest=farthest, issued_ns=0, confirmed_ns=1,
        announced_ns=None if latency_ms is None else round(latency_ms * 1e6), due_ns=due_ns, latency_ms=latency_ms,
        second=0,
    )  # fmt: skip


def test_a_line_rises_at_each_latency() -> None:
    starts = [start(20.0), start(10.0), start(None), start(40.0, variant="w"), start(30.0)]
    v, w = starts_figure(starts, ["v", "w", "x"]).data
    assert (v.name, list(v.x), [round(share) for share in v.y]) == ("v", [10, 10, 20, 30], [0, 33, 67, 100])
    assert (w.name, list(w.x), list(w.y)) == ("w", [40, 40], [0, 100])


def test_rows_are_by_distance() -> None:
    starts = [start(20.0), start(10.0), start(5.0, 1), start(None, due_ns=10), start(30.0), start(11.0, due_ns=10**6)]
    assert start_rows(starts, ["v"]) == [StartRow("v", 1, 1, 0, 5.0, 5.0), StartRow("v", 2, 4, 2, 11.0, 30.0)]


SCENARIO = """
name: starts
topology: {kind: line, brokers: 3, link: {delay: 5ms}}
routing: {protocol: PROTOCOL}
workload:
  kind: topics
  publications: {topics: 2, rate: 10/s, placement: [B1]}
  subscriptions:
    - {subscribers: 3, topics: 1, placement: [B3]}
    - {subscribers: 2, topics: 2, placement: [B2], joins: 2s}
timeline: {join: 1s, run: 4s, drain: 1s}
"""


def test_the_page_shows_starts_only_of_protocols_that_announce_them(tmp_path: Path) -> None:
    for protocol, subscriptions in (("gryphon", 5), ("tid", 0)):
        (tmp_path / "starts.yaml").write_text(SCENARIO.replace("PROTOCOL", protocol))
        plan = make_plan(load(tmp_path / "starts.yaml"))
        run = simulate(plan, tmp_path / protocol, calibration=Calibration.free()).directory
        analyze(run, PlainEngine())
        data = read_report_data(run)
        assert len(data.starts) == subscriptions
        assert {(row.broker, row.farthest) for row in data.starts} <= {("B3", 2), ("B2", 1)}
        # The first of a group waits for its batch of 10 ms, and for 5 ms a link to the farthest broker and back.
        for farthest in {row.farthest or 0 for row in data.starts}:
            assert max(row.latency_ms or 0 for row in data.starts if row.farthest == farthest) >= 10 + 10 * farthest
        assert ("<h2>Starts of subscriptions</h2>" in render(data)) == (protocol == "gryphon")
