"""A simulated run over a network of routers keeps that network."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.run_files.run_directory import RunDirectory, open_run
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load

ROUTERS = "{kind: transit-stub, brokers: 6, transit_domains: 2, transit_routers: 2, stubs: 1, overlay: full}"
SCENARIO = """
name: routers
seed: 5
topology: %s
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 1, rate: 2/s}
  subscriptions: {subscribers: 1}
timeline: {join: 1s, run: 1s, drain: 1s}
time_dilation: 2
vary: %s
"""


def simulated(directory: Path, topology: str, vary: str) -> RunDirectory:
    (directory / "routers.yaml").write_text(SCENARIO % (topology, vary))
    plan = make_plan(load(directory / "routers.yaml"))
    return open_run(simulate(plan, directory / "runs", calibration=Calibration.free()).directory)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return simulated(tmp_path_factory.mktemp("run"), ROUTERS, "{topology.overlay: [full, mst], seed: [5, 6]}")


def test_each_overlay_has_its_underlay(run: RunDirectory) -> None:
    files = {variant.name: variant.underlay for variant in run.manifest.variants}
    assert files["full+5"] == "underlay.json"
    assert len(set(files.values())) == 4
    assert all((run.path / name).exists() for name in files.values() if isinstance(name, str))


def test_the_underlay_has_the_delays_of_the_overlays_links(run: RunDirectory) -> None:
    for variant, overlay in run.overlays.items():
        underlay = run.underlays[variant]
        assert list(underlay.servers) == [broker.id for broker in overlay.brokers]
        for link in overlay.links:
            assert underlay.latency(link.a, link.b) == link.forward.delay, "in the scenario's time"
            assert underlay.servers[link.a] == overlay.broker(link.a).attributes["router"]


def test_a_run_without_routers_has_no_underlay(tmp_path: Path) -> None:
    run = simulated(tmp_path, "{kind: line, brokers: 2}", "{seed: [5]}")
    assert run.underlays == {}
    assert not list(run.path.glob("underlay*"))
