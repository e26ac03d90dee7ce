"""The section on stability: of a run with a burst, and of none."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.report.data import read_report_data
from analysis.report.page import render
from analysis.report.stability import bursting_publishers, stability_figure
from analysis.results import read_table
from analysis.run import analyze
from analysis.tables import Notification
from emulation.plan import make_plan
from emulation.scenario import load
from emulation.simulation.calibration import Calibration
from emulation.simulation.run import simulate

SCENARIO = """
name: burst
topology: {kind: line, brokers: 3, link: {delay: 1ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications:
    publishers: 2
    rate: 20/s
    individually: {P2: {rate: 0/s, quote_class: BURST, bursts: [{at: 2s, publications: 100, rate: 1000/s}]}}
  subscriptions: {subscribers: 4, selectivity: 100%, followers: [{of: P2, subscribers: 1, placement: [B3]}]}
timeline: {join: 2s, run: 8s, drain: 2s}
brokers: {service_time: 10ms, limits: {window: 1}}
vary: {routing.publications: [fixed, dynamic]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("burst")
    (directory / "burst.yaml").write_text(SCENARIO)
    made = simulate(make_plan(load(directory / "burst.yaml")), directory, calibration=Calibration.free()).directory
    analyze(made, PlainEngine())
    return made


def test_each_variant_is_stable_when_the_burst_has_drained(run: Path) -> None:
    """A hundred publications at 10 ms each are a second's work, of which the burst itself takes a tenth."""
    data = read_report_data(run)
    assert [one.variant for one in data.stability] == ["fixed", "dynamic"]
    rows = [row for row in read_table(run / "results", Notification) if row.variant == "fixed"]
    last = max(row.notified_ns for row in rows if row.publisher == "P2")
    first = min(row.intended_ns or 0 for row in rows if row.publisher == "P2")
    fixed = data.stability[0]
    assert fixed.begin == pytest.approx(2.0, abs=0.01)
    assert fixed.peak_ms == max(row.delay_ms or 0.0 for row in rows)
    assert fixed.stable_after == pytest.approx((last - first) / 1e9, abs=0.5)
    assert fixed.stable_after > 0.9
    assert max(fixed.largest_ms) == fixed.peak_ms
    assert list(fixed.seconds) == sorted(fixed.seconds)


def test_the_page_shows_it(run: Path) -> None:
    data = read_report_data(run)
    page = render(data)
    assert "<h2>Stability</h2>" in page
    assert f"{data.stability[0].stable_after:.1f}</td>" in page
    figure = stability_figure(data.stability, data.variants)
    assert [trace.name for trace in figure.data if trace.mode == "lines"] == ["fixed", "dynamic"]
    assert sum(trace.mode == "markers" for trace in figure.data) == 2


def test_a_scenario_without_a_burst_has_no_such_section() -> None:
    publications = {"publishers": 2, "individually": {"P1": {"rate": "2/s"}, "P2": {"bursts": [{"at": "1s"}]}}}
    assert bursting_publishers({"workload": {"publications": publications}}) == ["P2"]
    assert bursting_publishers({"workload": {"operations": []}}) == []
    assert bursting_publishers({}) == []
