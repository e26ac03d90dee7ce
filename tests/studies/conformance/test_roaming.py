"""Cases of clients that leave and arrive: their mistakes, the terms of protocols, and defects shipped ones find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker_service.client_library.client_requests import ClientRequests
from broker_service.core.client_sessions import ClientSessions
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.tid.options import TidOptions
from emulation.simulation import open_sessions
from emulation.simulation.site_session import SiteSession
from record.handover import (
    CHOSEN_BY_THE_FIRST_BROKER,
    Absence,
    AbsenceCost,
    Handover,
    MoveCost,
    MoveLoss,
    PublishingLoss,
    without_advertisements,
)
from studies.conformance import PROTOCOLS, Case, CaseError, CaseVerdict, SimulatedCaseRunner, read, run_case
from studies.conformance.host import HostCaseRunner
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish, step

CASES = {
    made.id: made
    for made in read(Path(__file__).resolve().parents[2] / "conformance" / "roaming.json")
    if isinstance(made, Case)
}
LEAVE = {"op": "leave", "client": "S", "how": "announced"}
ARRIVE = {"op": "arrive", "client": "S", "broker": "B2"}
PAUSE = {"op": "pause", "client": "S"}


def fails(id: str, protocol: str) -> bool:
    return run_case(CASES[id], PROTOCOLS[protocol], SimulatedCaseRunner()).verdict is CaseVerdict.FAILED


@pytest.mark.parametrize(
    ("steps", "fields", "message"),
    [
        ([ARRIVE], {}, "a client's first broker is that of its first declaration"),
        ([LEAVE], {}, "S is at no broker at this step"),
        ([SUBSCRIBE, LEAVE, LEAVE], {}, "steps[2].client: S is at no broker at this step"),
        ([SUBSCRIBE, ARRIVE, {**ARRIVE, "broker": "B1"}], {}, "S has sessions with B3 and B2; let it leave B3 first"),
        ([SUBSCRIBE, {**ARRIVE, "broker": "B3"}], {}, "S is at B3 already"),
        ([SUBSCRIBE, {**ARRIVE, "broker": "B9"}], {}, "there is no broker 'B9'"),
        ([SUBSCRIBE, ARRIVE, {**LEAVE, "how": "crash"}], {}, "let it leave B3 before it crashes"),
        ([SUBSCRIBE, LEAVE, step("unsubscribe", "S", "B2", "s1")], {}, "let it arrive at B2 first"),
        ([SUBSCRIBE, LEAVE, {"op": "break_session", "broker": "B3"}], {}, "so there is no session"),
        ([SUBSCRIBE, LEAVE], {"may_lose": {"S": {"p1": "announced"}}}, "`expect` has no 'p1' for S"),
        ([SUBSCRIBE, LEAVE], {"may_lose": {"S": {"p1": "quietly"}}}, "may_lose.S.p1"),
        ([SUBSCRIBE], {"access": {"T": {}}}, "no step declares anything for T"),
        ([PAUSE, SUBSCRIBE], {}, "S is at no broker at this step"),
        ([SUBSCRIBE, PAUSE, PAUSE], {}, "steps[2].op: S: pause holds already"),
        ([SUBSCRIBE, {**PAUSE, "op": "access_up"}], {}, "access_down holds no more"),
        ([SUBSCRIBE, LEAVE, {**PAUSE, "op": "access_down"}], {}, "S is at no broker at this step"),
    ],
)
def test_a_step_that_a_client_cannot_take_is_named(
    steps: list[dict[str, Any]], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(CaseError) as refused:
        case(*steps, **fields)
    assert message in str(refused.value)


@pytest.mark.parametrize("protocol", ["tid-fixed", "cbf", "gryphon"])
def test_a_library_that_does_not_declare_anew_is_found(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
    assert fails("a-subscriber-moves-without-a-word", protocol)
    assert fails("a-subscriber-crashes-and-comes-back", protocol)
    assert fails("an-access-link-that-is-cut-for-long-ends-the-session", protocol)
    assert fails("a-subscriber-vanishes-and-comes-back-over-another-access-link", protocol)


def test_a_broker_that_sends_to_a_frozen_client_in_vain_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteSession, "thaw", lambda self: setattr(self, "_frozen", None))
    assert fails("a-subscriber-that-is-frozen-gets-everything-once-it-continues", "tid-fixed")


def test_a_session_that_ends_with_its_first_heartbeat_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "SILENT_HEARTBEATS", 1)
    assert fails("an-access-link-that-is-cut-for-less-than-ten-heartbeats-loses-nothing", "tid-fixed")


@pytest.mark.parametrize("protocol", ["tid-fixed", "cbf", "gryphon"])
def test_a_broker_that_keeps_the_session_of_a_client_that_left_is_found(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClientSessions, "close", lambda self, session: None)
    assert fails("a-subscriber-that-crashed-attracts-no-publication", protocol)
    assert fails("a-subscriber-that-announced-its-move-attracts-no-publication-to-its-old-broker", protocol)
    assert fails("a-subscriber-that-left-without-a-word-attracts-no-publication-after-ten-heartbeats", protocol)


def test_a_protocol_that_may_not_double_is_held_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = "a-subscriber-arrives-ahead-of-a-publication-that-it-has-got"
    assert not fails(ahead, "cbf")
    monkeypatch.setattr(ProtocolOptions, "moves", property(lambda _: CHOSEN_BY_THE_FIRST_BROKER))
    assert fails(ahead, "cbf")
    assert not fails(ahead, "tid-fixed")


def test_a_protocol_that_may_lose_nothing_is_held_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {handover: MoveCost(loses=MoveLoss.NOTHING) for handover in Handover}
    monkeypatch.setattr(ProtocolOptions, "moves", property(lambda _: costs))
    absences = {absence: AbsenceCost(loses=MoveLoss.NOTHING) for absence in Absence}
    monkeypatch.setattr(ProtocolOptions, "absences", property(lambda _: absences))
    assert fails("a-subscriber-announces-its-move", "cbf")
    assert fails("a-subscriber-crashes-and-comes-back", "cbf")


def test_a_protocol_whose_publications_wait_for_no_advertisement_is_held_to_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = "a-publisher-publishes-while-it-is-away"
    assert not fails(away, "tid-fixed")
    costs = without_advertisements(CHOSEN_BY_THE_FIRST_BROKER)
    monkeypatch.setattr(TidOptions, "moves", property(lambda _: costs))
    assert costs[Handover.ANNOUNCED].publishing is PublishingLoss.UNACCEPTED
    assert fails(away, "tid-fixed")


def test_an_unannounced_departure_is_refused_on_real_brokers_with_a_reason() -> None:
    def reason(how: str) -> str:
        leaving = case(ADVERTISE, SUBSCRIBE, {**LEAVE, "how": how}, publish("p1"))
        return HostCaseRunner.obstacle(leaving)

    assert "have no network to lose" in reason("unannounced")
    assert "have no network to lose" in reason("vanish")
    assert not reason("announced")
    assert not reason("crash")


@pytest.mark.parametrize(
    ("step", "fields"),
    [([PAUSE], {}), ([], {"access": {"S": {"delay": "1ms"}}}), ([LEAVE, {**ARRIVE, "access": {"delay": "1ms"}}], {})],
)
def test_hosts_of_clients_are_refused_on_real_brokers_with_a_reason(
    step: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    assert "without hosts and access links" in HostCaseRunner.obstacle(case(ADVERTISE, SUBSCRIBE, *step, **fields))
