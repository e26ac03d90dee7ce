"""The section on recovery from a burst: in a run with a burst, in one without, and from notifications made by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.burst_recovery import (
    FEWEST_NOTIFICATIONS,
    BurstRecovery,
    burst_recovery,
    burst_sizes,
    ranked,
    recovery_figure,
    recovery_sentence,
)
from analysis.report.page import render
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.time_units import SECOND
from scenario.loading import load

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
    """A hundred publications at 10 ms each keep a broker busy for a second; the burst lasts a tenth of it."""
    data = read_report_data(run)
    assert [recovery.variant for recovery in data.burst_recoveries] == ["fixed", "dynamic"]
    rows = [row for row in read_table(run / "results", Notification) if row.variant == "fixed"]
    last = max(row.notified_ns for row in rows if row.publisher == "P2")
    first = min(row.intended_ns or 0 for row in rows if row.publisher == "P2")
    fixed = data.burst_recoveries[0]
    assert fixed.begin == pytest.approx(2.0, abs=0.01)
    assert fixed.end == pytest.approx(2.1, abs=0.01)
    assert fixed.peak_ms == max(row.delay_ms or 0.0 for row in rows)
    assert fixed.stable_after == pytest.approx((last - first) / 1e9, abs=0.5)
    assert fixed.stable_after > 0.9
    assert max(fixed.largest_ms) == fixed.peak_ms
    assert list(fixed.seconds) == sorted(fixed.seconds)


def test_the_page_shows_the_recovery(run: Path) -> None:
    data = read_report_data(run)
    page = render(data)
    assert "<figcaption>Recovery from the burst</figcaption>" in page
    assert "<h2>Recovery in numbers</h2>" in page
    assert "<h2>Delay over time</h2>" in page
    first, second = ranked(data.burst_recoveries)
    assert first.stable_after is not None
    assert second.stable_after is not None
    assert first.stable_after <= second.stable_after
    assert f"<td>{first.stable_after:.2f}</td>" in page
    assert f"<td>+{second.stable_after - first.stable_after:.2f}</td>" in page
    assert f'<p class="headline">{recovery_sentence(data.burst_recoveries)}</p>' in page
    figure = recovery_figure(data.burst_recoveries, data.variants)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [trace.name for trace in lines] == ["fixed", "dynamic"]
    assert len({trace.line.dash for trace in lines}) == 2
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert len({trace.marker.symbol for trace in marks}) == 2
    assert {(mark.x[0], mark.y[0]) for mark in marks} == {
        (recovery.begin + (recovery.stable_after or 0.0), recovery.normal_ms) for recovery in data.burst_recoveries
    }
    (shade,) = figure.layout.shapes
    assert (shade.x0, shade.x1) == (data.burst_recoveries[0].begin, data.burst_recoveries[0].end)


def test_a_scenario_without_a_burst_has_no_such_section() -> None:
    bursts = [{"at": "1s", "publications": 30}, {"at": "4s", "publications": 20}]
    publications = {"publishers": 2, "individually": {"P1": {"rate": "2/s"}, "P2": {"bursts": bursts}}}
    assert burst_sizes({"workload": {"publications": publications}}) == {"P2": 50}
    assert burst_sizes({"workload": {"operations": []}}) == {}
    assert burst_sizes({}) == {}


def recovery(variant: str, largest: list[float], after: float | None) -> BurstRecovery:
    return BurstRecovery(
        variant=variant, notifications=20, seconds=list(range(len(largest))), largest_ms=largest, begin=1.0, end=1.5,
        normal_ms=8.0, stable_after=after,
    )  # fmt: skip


def test_the_sentence_names_the_first_and_by_how_much() -> None:
    slow, fast, never = recovery("a", [4, 90, 5], 7.5), recovery("b", [4, 50, 5], 3.0), recovery("c", [4, 9], None)
    assert recovery_sentence([slow, fast, never]) == (
        "b is stable again first, 3.00 s after the burst began; a 4.50 s later."
    )
    assert [recovery.variant for recovery in ranked([never, slow, fast])] == ["b", "a", "c"]
    assert recovery_sentence([fast]) == "b is stable again 3.00 s after the burst began."
    assert recovery_sentence([never]) == ""


BURST = {"P": 50}


def notified(publisher: str, seconds: list[float], delays: list[float]) -> pa.RecordBatch:
    intended = [round(second * SECOND) for second in seconds]
    return pa.RecordBatch.from_pydict(
        {
            "publisher": [publisher] * len(seconds),
            "repeat": [0] * len(seconds),
            "intended_ns": intended,
            "notified_ns": [at + round(delay * 1e6) for at, delay in zip(intended, delays, strict=True)],
            "delay_ms": delays,
        }
    )


def test_other_publications_of_a_bursting_publisher_do_not_count() -> None:
    """Ten publications a second with a delay of 1 ms; fifty more from 10.005 s on, 10 ms apart, with one of 30 ms."""
    burst = notified("P", [10.005 + number / 100 for number in range(50)], [30.0] * 50)
    whole = burst_recovery(
        "base", [notified("P", [number / 10 for number in range(200)], [1.0] * 200), burst], BURST, 0
    )
    assert whole is not None
    assert (whole.begin, whole.end) == (pytest.approx(10.0, abs=0.06), pytest.approx(10.495, abs=0.06))
    assert whole.normal_ms == 2.0
    assert whole.stable_after == pytest.approx(0.5, abs=FEWEST_NOTIFICATIONS / 10)
    cut = burst_recovery("base", [notified("P", [number / 10 for number in range(104)], [1.0] * 104), burst], BURST, 0)
    assert cut is not None
    assert (cut.normal_ms, cut.stable_after) == (2.0, None)
    assert burst_recovery("base", [notified("Q", [1.0], [1.0])], BURST, 0) is None
