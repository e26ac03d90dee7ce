"""The figure of normalized resource usage: which points its lines have, and in which reports it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.figures.network_usage import UsagePoint, usage_figure, usage_lines
from analysis.report.page import render
from analysis.tables.traffic import NetworkUsage
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.manifest import VariantRecord
from scenario.loading import load
from topology.link_properties import Link
from topology.model import Broker, Overlay

RATIO = "workload.subscriptions.matching_ratio"
HEADING = "<h2>Normalized resource usage over the matching ratio</h2>"
SCENARIO = """
name: routers
topology: {kind: transit-stub, brokers: 6, overlay: full}
routing: {protocol: medym, algorithm: mst, locations: given}
workload: {kind: integers, values: 20, publications: {rate: 2/s}, subscriptions: {matching_ratio: 50%}}
timeline: {join: 5s, run: 5s, drain: 3s}
"""


def variant(name: str, **settings: Any) -> VariantRecord:
    return VariantRecord(name=name, topology="topology.json", settings=settings)


def row(variant: str, destinations: int, normalized: float, publications: int = 1) -> NetworkUsage:
    return NetworkUsage(
        variant=variant, destinations=destinations, publications=publications, usage_ms=1.0, ideal_ms=1.0,
        normalized=normalized,
    )  # fmt: skip


def overlays(variants: list[VariantRecord], brokers: int) -> dict[str, Overlay]:
    names = [f"B{number}" for number in range(brokers)]
    overlay = Overlay("o", tuple(map(Broker, names)), tuple(Link("B0", name) for name in names[1:]))
    return {variant.name: overlay for variant in variants}


def test_variants_that_differ_in_the_ratio_alone_share_a_line() -> None:
    variants = [
        variant(f"{ratio}+{name}", **{RATIO: f"{ratio}%", "routing": {"protocol": name}})
        for ratio in (10, 50)
        for name in ("cbf", "medym")
    ]
    rows = [row("50+medym", 5, 1.5), row("10+medym", 1, 1.1, 3), row("50+medym", 1, 1.9), row("10+cbf", 2, 2.0)]
    cbf, medym = usage_lines(rows, variants, overlays(variants, 11))
    assert (cbf.name, cbf.first, cbf.points) == ("cbf", 0, [UsagePoint(0.2, 2.0, 1)])
    assert (medym.name, medym.first) == ("medym", 1)
    assert [(point.ratio, point.publications) for point in medym.points] == [(pytest.approx(0.1), 4), (0.5, 1)]
    assert [point.normalized for point in medym.points] == pytest.approx([(3 * 1.1 + 1.9) / 4, 1.5])


def test_other_variants_have_a_line_each() -> None:
    variants = [variant("near", seed=1), variant("far", seed=2), variant("silent", seed=3)]
    lines = usage_lines([row("far", 1, 2.0), row("near", 1, 1.0)], variants, overlays(variants, 3))
    assert [(line.name, line.first) for line in lines] == [("near", 0), ("far", 1)]
    only_ratios = [variant("10", **{RATIO: "10%"}), variant("20", **{RATIO: "20%"})]
    (line,) = usage_lines([row("10", 1, 2.0)], only_ratios, overlays(only_ratios, 3))
    assert line.name == "all matching ratios"


def test_many_ratios_are_put_into_classes() -> None:
    variants = [variant("base")]
    rows = [row("base", number, 1 + number / 80) for number in range(1, 81)]
    (line,) = usage_lines(rows, variants, overlays(variants, 81))
    assert len(line.points) == 40
    assert sum(point.publications for point in line.points) == 80
    assert line.points[0] == UsagePoint(1 / 80, 1 + 1 / 80, 1)
    assert all(point.normalized == pytest.approx(1 + point.ratio) for point in line.points)
    assert line.points[-1].publications == 3
    assert line.points[-1].ratio == pytest.approx(79 / 80)


def test_the_figure_shows_the_points() -> None:
    variants = [variant("base")]
    figure = usage_figure(usage_lines([row("base", 1, 1.5, 7), row("base", 2, 0.9)], variants, overlays(variants, 3)))
    (line,) = figure.data
    assert (list(line.x), list(line.y), list(line.customdata)) == ([0.5, 1.0], [1.5, 0.9], [7, 1])
    assert [shape.y0 for shape in figure.layout.shapes] == [1]


@pytest.mark.parametrize("kind", ["transit-stub", "full"])
def test_runs_over_a_network_of_routers_have_the_figure(tmp_path: Path, kind: str) -> None:
    scenario = tmp_path / "scenario.yaml"
    under = "kind: transit-stub, brokers: 6, overlay: full"
    scenario.write_text(
        SCENARIO if kind == "transit-stub" else SCENARIO.replace(under, "kind: full, brokers: 6, link: {delay: 10ms}")
    )
    run = simulate(make_plan(load(scenario)), tmp_path / "runs").directory
    analyze(run, PlainEngine())
    data = read_report_data(run)
    assert bool(data.network_usage) == (kind == "transit-stub")
    assert (HEADING in render(data)) == (kind == "transit-stub")
    assert all(found.normalized >= 0.9 for found in data.network_usage)
