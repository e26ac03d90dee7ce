"""The section on relative delay penalty: of notifications made by hand, and of runs on a full mesh and on a line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.delay_penalty import POINTS, PenaltyDistribution, delay_penalties, penalty_figure
from analysis.report.page import render
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

SCENARIO = """
name: mesh
topology: {kind: %s, brokers: 5, link: {delay: 10ms}}
routing: {protocol: %s}
workload:
  publications: {publishers: 1, placement: [B1], rate: 20/s}
  subscriptions: {subscribers: 4, placement: [B2, B3, B4, B5], selectivity: 100%%}
timeline: {join: 2s, run: 3s, drain: 2s}
vary: {routing.announce_every: [0.4s, 0.5s]}
"""


def mesh() -> Overlay:
    """A full mesh of three brokers, of which B and C are far apart, more so from C to B."""
    delays = {("A", "B"): (0.01, 0.01), ("A", "C"): (0.02, 0.02), ("B", "C"): (0.1, 0.2)}
    links = tuple(
        Link(a, b, LinkProperties(delay=there), LinkProperties(delay=back)) for (a, b), (there, back) in delays.items()
    )
    return Overlay("three", tuple(map(Broker, "ABC")), links)


def batch(*rows: tuple[int, float | None, list[str] | None]) -> pa.RecordBatch:
    repeat, delay, path = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        {"repeat": repeat, "delay_ms": delay, "path": pa.array(path, pa.list_(pa.string()))},
        pa.schema({"repeat": pa.int64(), "delay_ms": pa.float64(), "path": pa.list_(pa.string())}),
    )


def test_the_penalty_is_the_delay_over_that_of_the_direct_link_in_the_publications_direction() -> None:
    notified = batch((0, 30.0, ["B", "A", "C"]), (0, 30.0, ["C", "A", "B"]), (0, 20.0, ["A", "C"]))
    found = delay_penalties("v", [notified], mesh())
    assert found is not None
    assert found.penalties == pytest.approx([0.15, 0.3, 1.0])
    assert (found.notifications, found.median) == (3, pytest.approx(0.3))
    assert found.below_direct == pytest.approx(2 / 3)


def test_only_first_notifications_with_a_known_way_to_another_broker_count() -> None:
    others = batch((1, 30.0, ["B", "A", "C"]), (0, None, ["A", "B"]), (0, 3.0, None), (0, 3.0, ["A"]))
    assert delay_penalties("v", [others], mesh()) is None
    found = delay_penalties("v", [others, batch((0, 15.0, ["A", "B"]))], mesh())
    assert found is not None
    assert found.penalties == pytest.approx([1.5])


def test_a_long_curve_is_thinned_to_quantiles_and_counts_stay_exact() -> None:
    rows = [(0, 10.0 * (1 + place / 1000), ["A", "B"]) for place in range(5 * POINTS)]
    found = delay_penalties("v", [batch(*rows)], mesh())
    assert found is not None
    assert (len(found.penalties), found.notifications) == (POINTS, 5 * POINTS)
    assert (found.penalties[0], found.penalties[-1]) == pytest.approx((1.0, 1 + (5 * POINTS - 1) / 1000))


def test_the_curve_reaches_all_notifications() -> None:
    (curve,) = penalty_figure([PenaltyDistribution("b", 3, [0.5, 1.0, 2.0], 1 / 3)], ["a", "b"]).data
    assert (list(curve.x), list(curve.y)) == ([0.5, 1.0, 2.0], [0.0, 50.0, 100.0])


def made(directory: Path, kind: str, protocol: str) -> Path:
    text = SCENARIO % (kind, protocol)
    if protocol != "medym":
        text = text.replace("routing.announce_every: [0.4s, 0.5s]", "routing.publications: [fixed, dynamic]")
    (directory / "mesh.yaml").write_text(text)
    run = simulate(make_plan(load(directory / "mesh.yaml")), directory, calibration=Calibration.free()).directory
    analyze(run, PlainEngine())
    return run


def test_a_run_on_a_full_mesh_shows_the_penalty_of_each_variant(tmp_path: Path) -> None:
    """All links are equally fast here, so that no way over another broker is faster than the direct one."""
    data = read_report_data(made(tmp_path, "full", "medym"))
    assert [found.variant for found in data.delay_penalties] == data.variants
    for found in data.delay_penalties:
        assert min(found.penalties) == pytest.approx(1.0, rel=1e-3)
        assert found.below_direct == 0
    assert "<h2>Relative delay penalty</h2>" in render(data)


def test_a_run_on_another_overlay_has_no_penalties(tmp_path: Path) -> None:
    data = read_report_data(made(tmp_path, "line", "tid"))
    assert not data.delay_penalties
    assert "Relative delay penalty" not in render(data)
