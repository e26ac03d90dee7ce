"""Slower runs of the same scenario: what is stretched, and that the results are the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from pydantic import BaseModel

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import open_run
from analysis.tables.delays import DelayOverTime
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from analysis.tables.timeline import PhaseTimes
from broker_service.routing.registry import PROTOCOLS
from emulation.planning.calibration import Calibration, Latency
from emulation.planning.dilation import dilate
from emulation.planning.plan import VariantPlan, make_plan
from emulation.simulation.run import simulate
from record.service_time import Distribution, ServiceTime
from scenario.faults import plan as plan_faults
from scenario.loading import load
from scenario.model import Scenario
from topology.model import MeshLinks
from topology.underlays.mesh import link_delays

SCENARIO = """
name: slower
topology: {kind: ring, brokers: 5, link: {delay: 2ms..5ms, jitter: 5%, bandwidth: 1mbit}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {source: stocks, publishers: 4, publishers_per_symbol: 2, rate: 20/s}
  subscriptions: {subscribers: 8, selectivity: 10%}
  operations:
    - {at: 250ms, client: X1, broker: B1, id: a1, advertise: "[class,eq,'OWN'],[price,>,0]"}
    - {at: 3s, client: X1, broker: B1, publish: "[class,'OWN'],[price,7]"}
timeline: {join: 2s, run: 5s, drain: 2s}
brokers: {service_time: {mean: 1ms, distribution: exponential}}
seed: 3
"""
FAULTS = """
faults:
  - {at: run+1s, degrade: B1-B2, delay: 9ms, jitter: 1ms, bandwidth: 100kbit, loss: 1%, send_time: 4ms, for: 1s}
  - {at: 2s, slow: B3, service_time: 1ms..2ms, for: 2s}
  - {at: run+2s, flap: B3-B4, down: 100ms, up: 200ms, times: 3}
  - {after: 10 notifications, slow: B2, cpu: 0.5}
"""


def scenario_of(text: str, directory: Path, **overrides: str) -> Scenario:
    path = directory / "slower.yaml"
    path.write_text(text)
    return load(path, overrides)


def variant(scenario: Scenario) -> VariantPlan:
    (only,) = make_plan(scenario).variants
    return only


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a scenario, by the path to it."""
    if isinstance(value, BaseModel):
        for name in (*type(value).model_fields, *(value.model_extra or {})):
            yield from leaves(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}.{index}")
    elif isinstance(value, float):
        yield path, value
    elif hasattr(value, "__slots__"):
        for name in value.__slots__:
            yield from leaves(getattr(value, name), f"{path}.{name}")


def test_what_is_a_time_is_stretched_and_a_rate_divided(tmp_path: Path) -> None:
    before = variant(scenario_of(SCENARIO + FAULTS, tmp_path, time_dilation="4"))
    after = dilate(before)
    was, now = dict(leaves(before.scenario)), dict(leaves(after.scenario))
    factors = {path: now[path] / value for path, value in was.items() if value and now[path] != value}
    assert factors.pop("time_dilation") == 1 / 4
    assert factors.pop("faults.0.bandwidth") == 1 / 4
    assert set(factors.values()) == {4.0}
    assert set(factors) == {
        "timeline.join", "timeline.run", "timeline.drain", "brokers.service_time.mean",
        "brokers.limits.heartbeat", "brokers.limits.reconnect_first", "brokers.limits.reconnect_last",
        "brokers.limits.utilisation_window", "brokers.limits.idle_close",
        "brokers.limits.detection_window", "brokers.limits.detection_lateness",
        "faults.0.at.seconds", "faults.0.lasts", "faults.0.delay", "faults.0.jitter", "faults.0.send_time",
        "faults.1.at.seconds", "faults.1.lasts", "faults.1.service_time.low", "faults.1.service_time.high",
        "faults.2.at.seconds", "faults.2.down", "faults.2.up",
    }  # fmt: skip
    untouched = {path for path, value in was.items() if value and not path.startswith(("topology", "workload"))}
    assert untouched - set(factors) - {"time_dilation", "faults.0.bandwidth"} == {"faults.0.loss", "faults.3.cpu"}
    assert after.scenario.routing.options["reconcile_after"] == 20.0
    assert dilate(after) is after


@pytest.mark.parametrize("kind", ["ring", "full"])
def test_links_carry_the_same_frames_more_slowly(kind: str, tmp_path: Path) -> None:
    text = SCENARIO.replace("ring", kind).replace(
        "bandwidth", "send_time: {mean: 2ms, distribution: uniform, deviation: 1ms}, bandwidth"
    )
    before = variant(scenario_of(text, tmp_path, time_dilation="2"))
    after = dilate(before)
    assert isinstance(after.overlay.links, MeshLinks) == (kind == "full"), "the links of a mesh are not listed"
    for was, now in zip(before.overlay.links, after.overlay.links, strict=True):
        assert now.forward.delay == 2 * was.forward.delay
        assert now.backward.jitter == 2 * was.backward.jitter
        assert (now.forward.rate, was.forward.rate) == (500_000, 1_000_000)
        assert now.forward.queue_limit == was.forward.queue_limit
        assert now.forward.send_time == ServiceTime(mean=0.004, distribution=Distribution.UNIFORM, deviation=0.002)
    assert np.array_equal(link_delays(after.overlay), 2 * link_delays(before.overlay))


def test_operations_are_the_same_ones_later(tmp_path: Path) -> None:
    before = variant(scenario_of(SCENARIO, tmp_path, time_dilation="3"))
    pairs = zip(before.workload.operations(), dilate(before).workload.operations(), strict=True)
    for was, now in pairs:
        assert now == msgspec.structs.replace(was, at=3 * was.at)


def test_faults_come_later_in_the_same_order(tmp_path: Path) -> None:
    before = variant(scenario_of(SCENARIO + FAULTS, tmp_path, time_dilation="3"))
    starts = []
    for planned in (before, dilate(before)):
        timeline = planned.scenario.timeline
        schedule = plan_faults(planned.scenario.faults, planned.overlay, join=timeline.join, run=timeline.run, seed=3)
        starts.append([entry.start for entry in schedule.entries if isinstance(entry.start, int)])
    assert starts[1] == [3 * start for start in starts[0]]


def test_no_option_that_is_a_time_is_forgotten() -> None:
    """The list of options that are times, so that a new one is not forgotten."""
    for protocol in PROTOCOLS.values():
        named = {
            field.name
            for field in msgspec.structs.fields(protocol.options)
            if field.name.endswith(("_after", "_interval", "_within", "_timeout", "_every", "_for"))
        }
        assert named <= set(protocol.options.times)


def run(tmp_path: Path, calibration: Calibration, dilation: int) -> Path:
    """Links have no jitter: fewer acknowledgements are needed on a slower link, so frames would draw other delays."""
    overrides = {"topology.link.jitter": "0ms", "time_dilation": str(dilation)}
    plan = make_plan(scenario_of(SCENARIO, tmp_path, **overrides))
    directory = simulate(plan, tmp_path / "runs", calibration=calibration).directory
    analyze(directory, PlainEngine())
    return directory


def by_notification(directory: Path) -> dict[tuple[str, str], Notification]:
    return {(row.publication, row.client): row for row in read_table(directory / "results", Notification)}


def mean_delay(directory: Path) -> float:
    """Milliseconds."""
    delays = [row.delay_ms for row in by_notification(directory).values() if row.delay_ms is not None]
    return sum(delays) / len(delays)


def test_a_slower_run_of_ideal_brokers_shows_the_same(tmp_path: Path) -> None:
    """With brokers and clients that cost nothing, dilation stretches everything."""
    plain, slow = (run(tmp_path, Calibration.free(), dilation) for dilation in (1, 5))
    was, now = by_notification(plain), by_notification(slow)
    assert len(was) > 200
    assert now.keys() == was.keys()
    for key, row in now.items():
        assert row.delay_ms == pytest.approx(was[key].delay_ms, abs=1e-3)
        assert (row.hops, row.second) == (was[key].hops, was[key].second)
    ended, begun = (
        {row.phase: row.end_s for row in read_table(directory / "results", PhaseTimes)} for directory in (plain, slow)
    )
    assert begun["run"] == pytest.approx(ended["run"], abs=1e-6)
    assert {row.second for row in read_table(slow / "results", DelayOverTime)} == set(range(5))
    (variant,) = open_run(slow).manifest.variants
    assert variant.time_dilation == 5


def test_brokers_own_work_counts_less_in_a_slower_run(tmp_path: Path) -> None:
    """This is what dilation is for: the delay that this host adds becomes a fifth, what the scenario asks for stays."""
    calibration = Calibration(frame=200_000, work={"publish": 200_000}, notify=Latency((1_000_000,) * 128))
    ideal = mean_delay(run(tmp_path, Calibration.free(), 1))
    plain, slow = (mean_delay(run(tmp_path, calibration, dilation)) for dilation in (1, 5))
    assert plain - ideal > 1.0
    assert slow - ideal == pytest.approx((plain - ideal) / 5, rel=0.2)
