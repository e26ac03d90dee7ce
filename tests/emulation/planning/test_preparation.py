"""Preparation of a protocol: once for each variant, from the overlay and the clients, for each broker its own part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_service.routing.options import MOST_PREPARED
from broker_service.tracing.trace import NullTrace
from emulation.live_overlay import BrokerConfigs
from emulation.planning.dilation import dilate
from emulation.planning.plan import VariantPlan, make_plan
from emulation.simulation.overlay import SimulatedOverlay
from record.errors import BadInputError
from scenario.loading import load
from studies.conformance import ConformanceProtocol
from studies.conformance.case_runner import settings
from tests.broker_service.scripted import SCRIPTED, ScriptedOptions, registered
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish

SCENARIO = """
name: prepared
topology: {kind: line, brokers: 3, link: {delay: 2ms}}
routing: {protocol: scripted, ROUTING}
workload:
  publications: {source: stocks, publishers: 4, publishers_per_symbol: 2, rate: 20/s}
  subscriptions: {subscribers: 8, selectivity: 10%}
  operations:
    - {at: 250ms, client: X1, broker: B1, id: a1, advertise: "[class,eq,'OWN'],[price,>,0]"}
    - {at: 3s, client: X1, broker: B1, publish: "[class,'OWN'],[price,7]"}
timeline: {join: 2s, run: 5s, drain: 2s}
seed: 3
"""


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


def variant(directory: Path, routing: str = "", dilation: float = 1.0) -> VariantPlan:
    path = directory / "prepared.yaml"
    path.write_text(SCENARIO.replace(", ROUTING", f", {routing}" if routing else "") + f"time_dilation: {dilation}\n")
    (planned,) = make_plan(load(path)).variants
    return planned


def seen(delay: float) -> str:
    return f"Seen(advertisements=9, subscriptions=8, delays=[{delay}, {delay}], links=2, seed=3)"


def test_a_plan_has_what_was_prepared_for_each_broker(tmp_path: Path) -> None:
    planned = variant(tmp_path)
    assert planned.prepared == {name: f"{name}: {seen(0.002)}".encode() for name in ("B1", "B2", "B3")}
    configs = BrokerConfigs(planned.overlay, planned.broker_settings)
    assert configs.of("B2", 7).prepared == planned.prepared["B2"]


def test_a_router_finds_its_broker_s_part(tmp_path: Path) -> None:
    planned = variant(tmp_path)
    overlay = SimulatedOverlay(planned.overlay, planned.broker_settings, lambda name: NullTrace(name, "base"))
    overlay.start()
    assert overlay.brokers.tables()["B3"]["prepared"] == f"B3: {seen(0.002)}"


def test_a_dilated_run_is_prepared_with_the_delays_that_it_has(tmp_path: Path) -> None:
    planned = variant(tmp_path, dilation=5.0)
    assert planned.prepared["B1"].decode() == f"B1: {seen(0.002)}"
    assert dilate(planned).prepared["B1"].decode() == f"B1: {seen(0.01)}"


@pytest.mark.parametrize(
    ("routing", "reason"),
    [
        ("refuses: too few brokers", "too few brokers"),
        ("prepares_for: B9", "there is no broker 'B9' in the overlay"),
    ],
)
def test_a_protocol_may_refuse_a_scenario(tmp_path: Path, routing: str, reason: str) -> None:
    with pytest.raises(BadInputError) as refused:
        variant(tmp_path, routing)
    assert str(refused.value) == f"routing.protocol: scripted cannot prepare its brokers: {reason}"


def test_what_is_prepared_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedOptions, "prepare", lambda *_: {"B1": bytes(MOST_PREPARED + 1)})
    with pytest.raises(BadInputError, match=f"{MOST_PREPARED + 1} bytes for broker B1, which takes at most"):
        variant(tmp_path)


def test_a_conformance_case_is_prepared_from_its_steps() -> None:
    prepared = settings(case(ADVERTISE, SUBSCRIBE, publish("p1")), ConformanceProtocol("s", SCRIPTED)).prepared
    assert b"Seen(advertisements=1, subscriptions=1," in prepared["B3"]


def test_a_protocol_that_prepares_nothing_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tid.yaml"
    path.write_text(SCENARIO.replace("scripted, ROUTING", "tid"))
    monkeypatch.setattr("emulation.planning.preparation._declared", lambda _: pytest.fail("was asked"))
    assert make_plan(load(path)).variants[0].prepared == {}
