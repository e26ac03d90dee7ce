"""Composite subscriptions of clients that move in virtual time: each broker is judged for what it can have kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Delivery
from broker_service.core.session import Session
from broker_service.messages import BrokerFrame
from broker_service.routing.tid.options import TidOptions
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from emulation.simulation.site_session import SiteSession
from record.handover import CHOSEN_BY_THE_FIRST_BROKER, Handover, MoveCost
from scenario.loading import load_text

SCENARIO = """
name: kept
topology: {kind: line, brokers: 5, link: {delay: 10ms}}
routing: {ROUTING}
clients:
  sites:
    berlin: {broker: B1, clients: T, delay: 8ms}
    oslo: {broker: B5, clients: S, delay: 5ms}
workload:
  publications: {source: stocks, symbols: 2, publishers: 2, rate: 2/s, placement: [B3]}
  operations:
    - at: 2s
      client: T
      broker: B1
      id: pairs
      composite: "{[class,eq,'STOCK'],[symbol,eq,'AAPL']} & {[class,eq,'STOCK'],[symbol,eq,'FB']}"
      within: 5s
    - {at: 2s, client: S, broker: B5, id: s, subscribe: "[class,eq,'STOCK']"}
timeline: {join: 6s, run: 24s, drain: 3s}
faults: [FAULTS]
brokers: {limits: {heartbeat: 500ms}}
seed: 3
"""
HARD = "{at: 10s, move: berlin, to: B4}"
SOFT = "{at: 17s, move: T, to: oslo, handover: make before break, overlap: 6s}"
"""Longer than T's composite subscription takes to stand at B5."""


def judged(directory: Path, *faults: str, routing: str = "protocol: tid") -> Delivery:
    text = SCENARIO.replace("FAULTS", ", ".join(faults)).replace("ROUTING", routing)
    outcome = simulate(make_plan(load_text(text, "kept.yaml")), directory)
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    return variant.delivery


@pytest.mark.parametrize("routing", ["protocol: tid", "protocol: tid, composites: dcsr", "protocol: cbf"])
def test_what_a_broker_kept_that_its_client_has_left_is_excused(tmp_path: Path, routing: str) -> None:
    found = judged(tmp_path, HARD, SOFT, routing=routing)
    assert found.verdicts == ["correct"]
    assert found.detections
    assert found.detections.excused
    assert found.detections.doubled
    assert "doubled by moves" in found.detections.in_words()


def test_a_long_overlap_costs_what_was_begun_before_it_and_not_complete_after_it(tmp_path: Path) -> None:
    soft = "{at: 12s, move: T, to: oslo, handover: make before break, overlap: 3s}"
    found = judged(tmp_path, soft)
    assert found.verdicts == ["correct"]
    assert found.detections
    assert set(found.detections.excused) == {"kept at a broker that its client has left"}


@pytest.mark.parametrize("broker", ["B1", "B4"])
def test_the_broker_at_which_the_client_is_excuses_by_its_failure(tmp_path: Path, broker: str) -> None:
    moved = judged(tmp_path / "moved", HARD)
    killed = judged(tmp_path / "killed", HARD, f"{{at: 20s, kill: {broker}, for: 2s}}")
    assert killed.verdicts == ["correct"]
    assert killed.detections
    assert moved.detections
    more = sum(killed.detections.excused.values()) - sum(moved.detections.excused.values())
    assert more > 0 if broker == "B4" else more == 0


@pytest.mark.proof
def test_a_set_that_is_lost_long_after_a_move_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = SiteSession._receive

    def forgetful(session: SiteSession, stream: Session, frame: BrokerFrame) -> None:
        if not 22.0 < session._events.seconds() < 23.0:
            receive(session, stream, frame)

    monkeypatch.setattr(SiteSession, "_receive", forgetful)
    assert judged(tmp_path, HARD).verdicts == ["lost", "detection lost"]


@pytest.mark.proof
def test_a_set_that_comes_twice_outside_the_promise_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {**CHOSEN_BY_THE_FIRST_BROKER, Handover.MAKE_BEFORE_BREAK: MoveCost()}
    monkeypatch.setattr(TidOptions, "moves", property(lambda _: costs))
    assert judged(tmp_path, SOFT).verdicts == ["detection duplicated"]
