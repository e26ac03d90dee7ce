"""Moves of sites and clients in virtual time: what they cost and double, and what the verdicts say of defects."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from broker_service.client_library.client_requests import ClientRequests
from broker_service.core.session import Session
from broker_service.messages import BrokerFrame
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.tid.options import TidOptions
from emulation.faults.moves import Moves
from emulation.planning.plan import make_plan
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.run import simulate
from emulation.simulation.site_session import SiteSession
from emulation.simulation.sites import SimulatedSites
from record.callbacks import do_nothing
from record.fidelity import FidelityVerdict
from record.files import LOGS, log_files
from record.handover import (
    CHOSEN_BY_THE_FIRST_BROKER,
    MATCHED_ON_ARRIVAL,
    Absence,
    AbsenceCost,
    Handover,
    MoveCost,
    MoveLoss,
)
from scenario.loading import load_text
from scenario.yaml_files.errors import ScenarioError
from topology.sites import Move

SCENARIO = """
name: roaming
topology: {kind: line, brokers: 4, link: {delay: DELAY}}
routing: {protocol: PROTOCOL}
workload:
  publications: {source: stocks, publishers: 2, rate: 10/s, placement: [B1]}
  subscriptions: {subscribers: 3, selectivity: 50%}
clients:
  sites:
    market: {broker: B1, clients: P1, delay: 5ms}
    berlin: {broker: B1, clients: [S1, S2], delay: 8ms}
    oslo: {broker: B4, clients: [S3], delay: 5ms}
timeline: {join: 2s, run: RUN, drain: 5s}
faults: [FAULTS]
brokers: {limits: {heartbeat: 200ms}}
seed: 4
"""
UNANNOUNCED = "{at: 4s, move: berlin, to: B3}"


def judged(
    directory: Path, *faults: str, run: str = "9s", protocol: str = "tid", delay: str = "10ms", rate: int = 10
) -> VariantSummary:
    text = SCENARIO.replace("RUN", run).replace("FAULTS", ", ".join(faults))
    text = text.replace("PROTOCOL", protocol).replace("DELAY", delay).replace("10/s", f"{rate}/s")
    outcome = simulate(make_plan(load_text(text, "roaming.yaml")), directory)
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    return variant


def test_every_handover_costs_what_the_manifest_says(tmp_path: Path) -> None:
    variant = judged(
        tmp_path,
        UNANNOUNCED,
        "{at: 8s, move: S2, to: oslo, away: 500ms, handover: announced}",
        "{at: 12s, move: berlin, to: B2, overlap: 3s, handover: make before break}",
        "{at: 18s, move: market, to: B4}",
        "{at: 21s, move: berlin, to: B1}",
        run="24s",
    )
    assert variant.delivery.verdicts == ["correct"]
    assert not [check.name for check in variant.audit if check.verdict == "INVALID"]
    assert variant.delivery.excused
    assert variant.delivery.doubled
    assert not variant.delivery.not_judged


WITHIN_A_BROKER = "{at: 4s, move: S2, to: market, handover: make before break}"


def test_a_client_may_hold_two_sessions_with_one_broker(tmp_path: Path) -> None:
    variant = judged(tmp_path, WITHIN_A_BROKER)
    assert variant.delivery.verdicts == ["correct"], variant.delivery.examples
    assert not variant.delivery.excused


def test_the_end_of_both_sessions_with_one_broker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depart = SimulatedSites.depart

    def end_both(sites: SimulatedSites, move: Move) -> None:
        depart(sites, move)
        for client in move.host.clients:
            sites._sessions.end(sites._held[client].session)

    monkeypatch.setattr(SimulatedSites, "depart", end_both)
    assert "session broken" in judged(tmp_path, WITHIN_A_BROKER).delivery.verdicts


BEFORE_THE_FIRST_SESSION = """
name: late-session
topology: {kind: line, brokers: 2, link: {delay: 5ms}}
routing: {protocol: tid}
workload: {operations: [{at: 2s, client: S, broker: B2, id: s, subscribe: "[class,eq,'A']"}]}
clients: {sites: {home: {broker: B2, clients: [S], delay: 50ms}, near: {broker: B2, clients: [], delay: 1ms}}}
timeline: {join: 3s, run: 30s, drain: 1min}
faults: [{at: join+0s, move: S, to: near, handover: make before break}]
"""


def test_an_operation_soon_after_a_move_that_is_never_answered_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former session opens behind the new one, takes the client from that, and ends."""
    succeed = SiteSession.succeed

    def succeed_and_keep(session: SiteSession, former: SiteSession) -> None:
        succeed(session, former)
        former.left = False

    plan = make_plan(load_text(BEFORE_THE_FIRST_SESSION, "late-session.yaml"))
    for verdict in (["unjudged"], ["not confirmed"]):
        (variant,) = analyze(simulate(plan, tmp_path / verdict[0]).directory, PlainEngine()).variants
        assert variant.delivery.verdicts == verdict
        monkeypatch.setattr(SiteSession, "succeed", succeed_and_keep)


def test_a_move_that_does_not_subscribe_again_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
    variant = judged(tmp_path, UNANNOUNCED)
    assert {"lost", "not renewed"} <= set(variant.delivery.verdicts)
    assert "S1 did not come to B3 after the move from B1" in " ".join(
        example.detail for example in variant.delivery.examples
    )


def test_a_subscription_ends_with_the_session_and_not_with_the_fault_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut that may explain the end comes a second before the client leaves, and notifications come in between."""
    cut_and_moved = "{at: 3s, link_down: B1->berlin, for: 4ms}", "{at: 4s, move: berlin, to: B3}"
    honest = judged(tmp_path / "as planned", *cut_and_moved, protocol="gryphon", run="4s", rate=50)
    assert honest.delivery.verdicts == ["correct"], honest.delivery.examples
    assert honest.delivery.excused
    receive = SiteSession._receive

    def deaf(session: SiteSession, called: Session, frame: BrokerFrame) -> None:
        if not 3.4 < session._events.seconds() < 3.6:
            receive(session, called, frame)

    monkeypatch.setattr(SiteSession, "_receive", deaf)
    assert "lost" in judged(tmp_path / "deaf", *cut_and_moved, protocol="gryphon", run="4s", rate=50).delivery.verdicts


def test_a_broker_that_has_ended_does_nothing_when_a_client_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = "{at: 4s, kill: B1, for: 3s}", "{at: 4s, move: S2, to: oslo, handover: announced}"
    dead: list[SimulatedBroker] = []
    kill = SimulatedBroker.kill

    def note(broker: SimulatedBroker) -> None:
        kill(broker)
        dead.append(broker)

    monkeypatch.setattr(SimulatedBroker, "kill", note)
    assert judged(tmp_path, *faults, protocol="gryphon", run="14s").delivery.verdicts == ["correct"]
    assert [broker.core.awaited_timers for broker in dead] == [0] * len(dead)


@pytest.mark.parametrize(
    "fault",
    ["{at: 4035ms, pause: B3, for: 5s}", "{at: 4035ms, kill: B3, for: 8s}", "{at: 4035ms, crash: S1, for: 8s}"],
    ids=["pause", "kill", "crash"],
)
def test_a_fault_as_a_client_arrives_delays_what_is_renewed_and_excuses_nothing_more(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = UNANNOUNCED, fault
    assert judged(tmp_path / "as planned", *arrived, run="20s").delivery.verdicts == ["correct"]
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
    variant = judged(tmp_path / "forgetful", *arrived, run="20s")
    assert "S1 did not come to B3 after the move from B1" in " ".join(
        example.detail for example in variant.delivery.examples
    )


@pytest.mark.parametrize("meanwhile", ["", ", {at: 7500ms, pause: S1, for: 3s}"], ids=["no fault", "a pause"])
def test_a_restart_after_which_a_client_that_has_moved_does_not_subscribe_again_is_named(
    meanwhile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted = UNANNOUNCED, "{at: 7s, kill: B3, for: 1s}" + meanwhile
    assert judged(tmp_path / "as planned", *restarted, run="14s").delivery.verdicts == ["correct"]
    connect = SiteSession.connect

    def forgetful(session: SiteSession, broker: SimulatedBroker) -> None:
        with monkeypatch.context() as patched:
            if session._events.seconds() > 8.0:
                patched.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
            connect(session, broker)

    monkeypatch.setattr(SiteSession, "connect", forgetful)
    variant = judged(tmp_path / "forgetful", *restarted, run="14s")
    assert set(variant.delivery.verdicts) == {"lost", "not renewed"}
    assert "S1 did not come to B3 again after its restart" in " ".join(
        example.detail for example in variant.delivery.examples
    )


def test_an_old_session_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteSession, "lost_at_broker", lambda _: do_nothing)
    variant = judged(tmp_path, UNANNOUNCED)
    assert variant.delivery.verdicts == ["session stays"]


ROAMING = """
  roaming: {rate: 20/min, sites: [berlin, market], to: neighbours, away: 0s..1s}
timeline"""


def test_moves_at_a_rate_are_judged_as_planned_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SCENARIO", SCENARIO.replace("\ntimeline", ROAMING))
    variant = judged(tmp_path / "correct", "{at: 5s, link_down: B2-B3, for: 1s}", run="12s")
    assert variant.delivery.verdicts == ["correct"]
    assert len([fault for fault in variant.faults if fault.kind == "move"]) >= 3
    assert variant.delivery.excused
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: iter(()))
    assert {"lost", "not renewed"} <= set(judged(tmp_path / "forgets", run="12s").delivery.verdicts)


def test_a_site_that_has_moved_vanishes_from_its_new_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = f"{UNANNOUNCED}, {{at: 7s, vanish: berlin, for: 3s}}"
    text = SCENARIO.replace("PROTOCOL", "tid").replace("DELAY", "10ms")
    text = text.replace("RUN", "11s").replace("FAULTS", faults)
    plan = make_plan(load_text(text, "roaming.yaml"))

    def wrong(directory: Path) -> list[str]:
        outcome = simulate(plan, directory)
        (judged,) = outcome.fidelity.variants
        assert [variant.delivery.verdicts for variant in analyze(outcome.directory, PlainEngine()).variants] == [
            ["correct"]
        ]
        return [check.detail for check in judged.checks if check.verdict is FidelityVerdict.INVALID]

    assert wrong(tmp_path / "right") == []
    monkeypatch.setattr(Moves, "at_present", lambda _, conditions: conditions)
    (detail,) = wrong(tmp_path / "from-the-old-broker")
    assert "link_down of berlin->B3 at 7 s: 10 of 10 probes crossed it" in detail


def test_a_crash_of_a_site_ends_those_clients_that_are_there_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = (
        "{at: 4s, move: S2, to: oslo, away: 500ms, handover: announced}",
        "{at: 4s, move: S3, to: berlin, away: 500ms, handover: announced}",
    )
    text = SCENARIO.replace("PROTOCOL", "tid").replace("DELAY", "10ms").replace("RUN", "11s")
    text = text.replace("FAULTS", ", ".join((*moves, "{at: 7s, crash: berlin, for: 3s}")))
    plan = make_plan(load_text(text, "roaming.yaml"))

    def notified_meanwhile(directory: Path) -> tuple[set[str], list[str]]:
        outcome = simulate(plan, directory)
        (variant,) = outcome.fidelity.variants
        records = (json.loads(line) for file in log_files(outcome.directory / LOGS) for line in file.open())
        notified = (record for record in records if record["event"] == "notified")
        clients = {record["client"] for record in notified if 7.2e9 < record["time"] < 9.9e9}
        return clients, [check.detail for check in variant.checks if check.verdict is FidelityVerdict.INVALID]

    assert notified_meanwhile(tmp_path / "right") == ({"S2"}, [])
    monkeypatch.setattr(Moves, "as_it_is", lambda _, host: host)
    clients, (detail,) = notified_meanwhile(tmp_path / "those-of-the-start")
    assert clients == {"S3"}
    assert "crash of berlin at 7 s: " in detail


AMONG_FAULTS = """
name: among-faults
topology: {kind: line, brokers: 4, link: {delay: 10ms}}
routing: {protocol: tid}
clients:
  every_broker: {sites: 1, delay: 5ms..15ms}
  roaming: {rate: 12/min, away: 0s..1s}
workload:
  publications: {source: stocks, publishers: 3, rate: 10/s}
  subscriptions: {subscribers: 8, selectivity: 30%}
brokers: {limits: {heartbeat: 300ms}}
timeline: {join: 3s, run: 25s, drain: 6s}
faults:
  - {at: run+4s, crash: random-site, for: 2s}
  - {at: run+8s, vanish: random-site, for: 4s}
  - {at: run+14s, pause: random-client(2), for: 2s}
  - {at: run+10s, kill: random, for: 2s}
  - {at: run+17s, degrade: random-access(2), delay: 80ms, for: 2s}
  - {at: run+20s, link_down: random-access(2), for: 2s}
"""


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, id="a-client-crashes-on-its-way", marks=pytest.mark.proof),
        pytest.param(2, id="a-broker-restarts-that-a-client-has-left", marks=pytest.mark.proof),
        pytest.param(5, id="a-client-leaves-before-its-restarted-broker-answers"),
        pytest.param(9, id="a-client-leaves-a-broker-that-had-recovered", marks=pytest.mark.proof),
        pytest.param(10, id="clients-arrive-at-a-broker-that-is-down", marks=pytest.mark.proof),
    ],
)
def test_moves_among_other_faults_are_judged_right(seed: int, tmp_path: Path) -> None:
    outcome = simulate(make_plan(load_text(f"{AMONG_FAULTS}seed: {seed}\n", "among-faults.yaml")), tmp_path)
    (judged,) = outcome.fidelity.variants
    assert [check.detail for check in judged.checks if check.verdict is FidelityVerdict.INVALID] == []
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    assert variant.delivery.verdicts == ["correct"], variant.delivery.examples


@pytest.mark.proof
def test_a_client_that_finds_no_broker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = SiteSession.connect

    def lost(session: SiteSession, broker: SimulatedBroker) -> None:
        if broker.core.id != "B3":
            connect(session, broker)

    monkeypatch.setattr(SiteSession, "connect", lost)
    assert "session broken" in judged(tmp_path, UNANNOUNCED).delivery.verdicts


@pytest.mark.proof
def test_a_loss_beyond_the_window_of_a_move_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = SiteSession._receive

    def forgetful(session: SiteSession, stream: Session, frame: BrokerFrame) -> None:
        if not 8.0 < session._events.seconds() < 8.4:
            receive(session, stream, frame)

    monkeypatch.setattr(SiteSession, "_receive", forgetful)
    assert judged(tmp_path, UNANNOUNCED).delivery.verdicts == ["lost"]


BERLIN = "B1 2", "B1 3"
"""The sessions of S1 and S2, wherever they are."""


@pytest.mark.proof
@pytest.mark.parametrize(
    ("overlap", "begin", "end", "verdict"),
    [
        ("1s", 4.0, 4.4, "lost"),
        ("1s", 7.1, 7.5, "correct"),
        ("1s", 9.0, 9.4, "lost"),
        ("5s", 6.5, 6.9, "lost"),
        ("5s", 10.5, 10.9, "lost"),
        ("5s", 11.1, 11.5, "lost"),
    ],
)
def test_a_soft_handover_excuses_what_was_in_flight_until_all_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overlap: str, begin: float, end: float, verdict: str
) -> None:
    """Both sessions are there from 6 s on, and the old one ends a second later, before the client's subscriptions stand
    at its new broker, or five seconds later, after that."""
    receive = SiteSession._receive

    def forgetful(session: SiteSession, stream: Session, frame: BrokerFrame) -> None:
        if session.name not in BERLIN or not begin < session._events.seconds() < end:
            receive(session, stream, frame)

    monkeypatch.setattr(SiteSession, "_receive", forgetful)
    soft = f"{{at: 6s, move: berlin, to: B3, overlap: {overlap}, handover: make before break}}"
    assert judged(tmp_path, soft, run="14s").delivery.verdicts == [verdict]


@pytest.mark.proof
def test_a_double_outside_the_promise_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {**CHOSEN_BY_THE_FIRST_BROKER, Handover.MAKE_BEFORE_BREAK: MoveCost()}
    monkeypatch.setattr(TidOptions, "moves", property(lambda _: costs))
    soft = "{at: 4s, move: berlin, to: B3, overlap: 3s, handover: make before break}"
    assert judged(tmp_path, soft).delivery.verdicts == ["duplicated"]


@pytest.mark.proof
@pytest.mark.parametrize("absence", ["crash: S3", "vanish: oslo"])
def test_an_absence_that_may_cost_nothing_excuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absence: str
) -> None:
    away = f"{{at: 4s, {absence}, for: 1s}}"
    assert judged(tmp_path / "promised", away).delivery.verdicts == ["correct"]
    costs = {absence: AbsenceCost(loses=MoveLoss.NOTHING) for absence in Absence}
    monkeypatch.setattr(ProtocolOptions, "absences", property(lambda _: costs))
    assert judged(tmp_path / "kept", away).delivery.verdicts == ["lost"]


AHEAD = "{at: 4s, move: berlin, to: B3}"
"""B3 is half a second behind B1, so that S1 and S2 are there ahead of what they have got."""


def test_a_client_ahead_of_a_publication_gets_it_from_both_brokers(tmp_path: Path) -> None:
    """Brokers of content-based forwarding match what arrives."""
    found = judged(tmp_path, AHEAD, protocol="cbf", delay="250ms").delivery
    assert found.verdicts == ["correct"] and found.doubled


@pytest.mark.proof
def test_a_client_ahead_of_a_publication_gets_it_once_where_its_first_broker_chose(tmp_path: Path) -> None:
    found = judged(tmp_path, AHEAD, delay="250ms").delivery
    assert found.verdicts == ["correct"] and not found.doubled


@pytest.mark.proof
def test_a_double_that_a_hard_handover_may_not_make_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProtocolOptions, "moves", property(lambda _: CHOSEN_BY_THE_FIRST_BROKER))
    assert judged(tmp_path, AHEAD, protocol="cbf", delay="250ms").delivery.verdicts == ["duplicated"]


CLOSER = "{at: 8s, move: oslo, to: B1, overlap: 8s, handover: make before break}"
"""The two brokers deliver the same publications 600 ms apart."""


@pytest.mark.proof
def test_order_holds_at_each_broker_of_a_soft_handover(tmp_path: Path) -> None:
    assert judged(tmp_path, CLOSER, run="18s", protocol="cbf", delay="200ms").delivery.verdicts == ["correct"]


@pytest.mark.proof
def test_an_order_that_a_soft_handover_may_not_cost_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {**MATCHED_ON_ARRIVAL, Handover.MAKE_BEFORE_BREAK: MoveCost(doubles=True)}
    monkeypatch.setattr(ProtocolOptions, "moves", property(lambda _: costs))
    assert judged(tmp_path, CLOSER, run="18s", protocol="cbf", delay="200ms").delivery.verdicts == ["reordered"]


SOFT_PUBLISHER = "{at: 6s, move: market, to: B4, overlap: 4s, handover: make before break}"


@pytest.mark.proof
def test_a_publisher_is_excused_until_its_advertisement_has_settled_where_subscriptions_follow_it(
    tmp_path: Path,
) -> None:
    found = judged(tmp_path / "tid", SOFT_PUBLISHER, run="14s", delay="100ms").delivery
    assert found.verdicts == ["correct"] and found.excused
    found = judged(tmp_path / "cbf", SOFT_PUBLISHER, run="14s", protocol="cbf", delay="100ms").delivery
    assert found.verdicts == ["correct"] and not found.excused


def test_a_publication_that_the_new_broker_accepted_is_owed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its publisher's advertisement has not settled there, which excuses nothing in content-based forwarding."""
    publish = CbfRouter.publish

    taken = count()

    def forgetful(router: CbfRouter, *given: Any) -> Any:
        return () if router._context.broker == "B4" and next(taken) < 5 else publish(router, *given)

    monkeypatch.setattr(CbfRouter, "publish", forgetful)
    hard = "{at: 6s, move: market, to: B4}"
    assert judged(tmp_path, hard, protocol="cbf").delivery.verdicts == ["lost"]


@pytest.mark.proof
@pytest.mark.parametrize("protocol", ["tid", "cbf", "gryphon"])
def test_order_holds_at_each_broker_of_a_publisher_that_moves(tmp_path: Path, protocol: str) -> None:
    found = judged(tmp_path, "{at: 6s, move: market, to: B4}", run="12s", protocol=protocol, delay="100ms").delivery
    assert found.verdicts == ["correct"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{at: 4s, move: berlin, to: B9}", "faults[0].to: neither a broker nor a site"),
        ("{at: 4s, move: berlin, to: B1}", "faults[0].to: berlin is at B1 already"),
        ("{at: 4s, move: berlin, to: oslo}", "faults[0].to: berlin is a site, which goes to a broker"),
        ("{at: 4s, move: S1, to: B3}", "faults[0].move: S1 shares berlin with other clients"),
        ("{at: 4s, move: S1, to: berlin}", "faults[0].to: S1 is on berlin already"),
        ("{at: 4s, move: P2, to: oslo}", "faults[0].move: no site, and no client on a site, is 'P2'"),
        ("{at: 4s, move: berlin}", "faults[0]: move needs `to`"),
        ("{at: 4s, move: berlin, to: B2, overlap: 1s}", "`overlap` belongs to `handover: make before break`"),
        ("{at: 4s, move: berlin, to: B2, away: 1s, handover: make before break}", "`away` does not belong"),
        ("{at: 4s, move: berlin, to: B2, for: 1s}", "`for` does not belong to move"),
    ],
)
def test_a_move_that_cannot_be_is_refused(fault: str, message: str) -> None:
    text = SCENARIO.replace("RUN", "9s").replace("FAULTS", fault).replace("PROTOCOL", "tid").replace("DELAY", "10ms")
    with pytest.raises(ScenarioError) as refused:
        load_text(text, "roaming.yaml")
    assert message in str(refused.value)
