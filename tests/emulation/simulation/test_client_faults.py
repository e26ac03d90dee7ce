"""Faults of clients on sites in virtual time: what they cost, what excuses it, and what the verdicts say of defects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from broker_service.client_library.client_requests import ClientRequests
from broker_service.core.session import Session
from broker_service.messages import BrokerFrame, Outcome
from emulation.planning.plan import make_plan
from emulation.simulation.access import AccessLink
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.run import simulate
from emulation.simulation.sessions import SimulatedSession
from emulation.simulation.site_session import SiteSession
from record.fidelity import VariantFidelity
from scenario.loading import load_text
from topology.link_properties import LinkDirection, LinkProperties

SCENARIO = """
name: sites
topology: {kind: line, brokers: 3, link: {delay: 4ms}}
routing: ROUTING
workload:
  publications: {source: stocks, publishers: 2, rate: 8/s, placement: [B1]}
  subscriptions: {subscribers: 4, selectivity: 50%, placement: [B3]}
  operations: [OPERATIONS]
clients:
  sites:
    market: {broker: B1, clients: P1, delay: 15ms}
    berlin: {broker: B3, clients: [S1, S2], delay: 5ms, to_clients: {delay: 25ms}}
    oslo: {broker: B3, clients: [S3OTHER], delay: 5ms}
timeline: {join: 2s, run: RUN, drain: 5s}
faults: [FAULTS]
seed: 4
"""


def judged(
    directory: Path,
    *faults: str,
    run: str = "14s",
    operations: str = "",
    brokers: str = "",
    routing: str = "{protocol: tid, publications: fixed}",
) -> tuple[VariantFidelity, VariantSummary]:
    text = SCENARIO.replace("ROUTING", routing)
    text = text.replace("RUN", run).replace("FAULTS", ", ".join(faults)).replace("OPERATIONS", operations)
    text = text.replace("OTHER", ", X" if operations else "")
    outcome = simulate(make_plan(load_text(text + brokers, "sites.yaml")), directory)
    (fidelity,) = outcome.fidelity.variants
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    return fidelity, variant


def invalid(fidelity: VariantFidelity) -> str:
    """The details of the checks that failed."""
    return " ".join(check.detail for check in fidelity.checks if check.verdict == "INVALID")


def notified(directory: Path, client: str) -> list[int]:
    """The times in milliseconds at which a client was notified."""
    logs = "".join(path.read_text() for path in directory.glob("*/logs/subscribers.jsonl"))
    lines = (line for line in logs.splitlines() if '"event":"notified"' in line and f'"client":"{client}"' in line)
    return [int(line.partition('"time":')[2].partition(",")[0]) // 1_000_000 for line in lines]


def test_every_fault_of_clients_costs_what_its_evidence_excuses(tmp_path: Path) -> None:
    fidelity, variant = judged(
        tmp_path,
        "{at: 4s, crash: S1, for: 3s}",
        "{at: 9s, vanish: oslo, for: 12s}",
        "{at: 22s, link_down: berlin-B3, for: 1s}",
        "{at: 25s, degrade: random-access, delay: 200ms, for: 2s}",
        "{at: 27s, crash: market, for: 2s}",
        "{at: 31s, link_down: market->B1, for: 13s}",
        "{at: 31s, link_down: B3->oslo, for: 13s}",
        run="50s",
    )
    assert variant.delivery.verdicts == ["correct"]
    assert not [check.name for check in variant.audit if check.verdict == "INVALID"]
    assert not invalid(fidelity)
    assert variant.delivery.excused
    gone = notified(tmp_path, "S3")
    assert not [time for time in gone if 9_100 < time < 21_000]
    assert [time for time in gone if time > 21_500]
    crashed = notified(tmp_path, "S1")
    assert not [time for time in crashed if 4_100 < time < 7_000]
    assert [time for time in notified(tmp_path, "S2") if 4_100 < time < 7_000]


def test_a_client_that_crashes_twice_is_owed_what_comes_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the announcement of its subscription on, also shortly before the second crash."""
    faults = "{at: 4s, crash: S1, for: 1s}", "{at: 7s, crash: S1, for: 1s}"
    _, variant = judged(tmp_path / "as planned", *faults, routing="{protocol: gryphon}")
    assert variant.delivery.verdicts == ["correct"], variant.delivery.examples
    receive = SiteSession._receive

    def deaf(session: SiteSession, called: Session, frame: BrokerFrame) -> None:
        told = [event for event in frame.events if event.outcome is Outcome.NOTIFIED and "S1" in event.clients]
        if not told or not 5.6 < session._events.seconds() < 6.0:
            receive(session, called, frame)

    monkeypatch.setattr(SiteSession, "_receive", deaf)
    _, variant = judged(tmp_path / "deaf", *faults, routing="{protocol: gryphon}")
    assert variant.delivery.verdicts == ["lost"], variant.delivery.examples


def test_a_short_cut_of_an_access_link_costs_nothing(tmp_path: Path) -> None:
    _, variant = judged(tmp_path, "{at: 6s, link_down: [berlin-B3, market->B1], for: 2s}")
    assert variant.delivery.verdicts == ["correct"]
    assert variant.delivery.delivered == variant.delivery.expected
    assert not variant.delivery.excused


def test_a_client_that_does_not_come_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenSessions, "come_back", lambda *_: None)
    fidelity, variant = judged(tmp_path, "{at: 4s, crash: oslo, for: 1s}")
    assert "session broken" in variant.delivery.verdicts
    assert "return of oslo" in invalid(fidelity)


def test_a_crash_that_did_not_happen_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenSessions, "crash", lambda *_: None)
    fidelity, _ = judged(tmp_path, "{at: 4s, crash: S1, for: 3s}")
    assert "crash of S1" in invalid(fidelity)


def test_an_access_link_that_was_not_cut_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AccessLink, "cut", lambda *_: None)
    fidelity, _ = judged(tmp_path, "{at: 6s, link_down: berlin-B3, for: 1s}")
    assert "link_down of berlin->B3" in " ".join(
        check.detail for check in fidelity.checks if check.verdict == "INVALID"
    )


def test_a_healed_access_link_is_as_before_beside_what_it_still_carries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames do not overtake each other: those that are sent after the heal leave behind those from before it."""
    degraded = "{at: 6s, degrade: [market-B1, berlin-B3], delay: 600ms, for: 4s}"
    fidelity, variant = judged(tmp_path / "as planned", degraded)
    assert variant.delivery.verdicts == ["correct"]
    assert not invalid(fidelity)
    change = AccessLink.change

    def change_for_ever(self: AccessLink, direction: LinkDirection, properties: LinkProperties) -> None:
        if properties.delay == 0.6:
            change(self, direction, properties)

    monkeypatch.setattr(AccessLink, "change", change_for_ever)
    fidelity, _ = judged(tmp_path / "never healed", degraded)
    assert "recover of market->B1" in invalid(fidelity)


def test_what_a_cut_makes_wait_beyond_the_bound_of_a_session_is_lost(tmp_path: Path) -> None:
    cut = "{at: 6s, link_down: berlin-B3, for: 3s}"
    _, variant = judged(tmp_path, cut, brokers="brokers: {limits: {session_queue: 5}}")
    assert variant.delivery.verdicts == ["lost"]
    assert {example.client for example in variant.delivery.examples} <= {"S1", "S2"}
    assert "dropped at B3: client session does not read" in variant.delivery.examples[0].detail


def test_a_session_that_breaks_without_a_fault_of_its_own_client_is_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, opened = OpenSessions.crash, OpenSessions.over

    def crash_all_at_the_site(self: OpenSessions, session: SimulatedSession) -> None:
        access = self.access_links.latest_of("berlin")
        assert access is not None
        for one in opened(self, access):
            original(self, one)

    monkeypatch.setattr(OpenSessions, "crash", crash_all_at_the_site)
    _, variant = judged(tmp_path, "{at: 4s, crash: S1, for: 3s}")
    assert variant.delivery.verdicts == ["lost", "session broken"]


def test_a_subscription_that_is_not_made_again_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientRequests, "_all_declared", lambda _: ())
    _, variant = judged(tmp_path, "{at: 4s, crash: oslo, for: 1s}")
    assert "lost" in variant.delivery.verdicts


def test_an_operation_over_a_cut_access_link_is_answered_late(tmp_path: Path) -> None:
    asked = "{at: 7s, client: X, broker: B3, id: x1, subscribe: '[class,eq,STOCK]'}"
    _, variant = judged(tmp_path, "{at: 6s, link_down: oslo-B3, for: 7s}", operations=asked, run="20s")
    assert variant.delivery.verdicts == ["correct"]


def test_paused_clients_are_late_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = "{at: 4s, pause: [berlin, market], for: 4s}", "{at: 10s, pause: S3}", "{at: 12s, resume: S3}"
    fidelity, variant = judged(tmp_path / "as planned", *faults)
    assert variant.delivery.verdicts == ["correct"]
    assert variant.delivery.delivered == variant.delivery.expected
    assert not invalid(fidelity)
    assert not [time for time in notified(tmp_path / "as planned", "S2") if 4_100 < time < 8_000]
    monkeypatch.setattr(SiteSession, "freeze", lambda _: None)
    fidelity, _ = judged(tmp_path / "without effect", *faults)
    assert "pause of berlin" in invalid(fidelity)


def test_a_fault_of_a_broker_explains_no_break_of_a_client_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = "{at: 3900ms, pause: B2, for: 2s}", "{at: 4s, crash: S3, for: 500ms}"
    namesake = "{at: 1s, client: B2, broker: B3, id: s, subscribe: '[class,eq,STOCK]'}"
    monkeypatch.setitem(globals(), "SCENARIO", SCENARIO.replace("S3OTHER", "S3, B2"))
    _, variant = judged(tmp_path / "as planned", *faults, operations=namesake)
    assert variant.delivery.verdicts == ["correct"]
    opened = OpenSessions.over
    for name in ("crash", "come_back"):
        original = getattr(OpenSessions, name)

        def all_at_the_site(
            self: OpenSessions, session: SimulatedSession, original: Callable[..., None] = original
        ) -> None:
            access = self.access_links.latest_of("oslo")
            assert access is not None
            for one in opened(self, access):
                original(self, one)

        monkeypatch.setattr(OpenSessions, name, all_at_the_site)
    _, variant = judged(tmp_path / "with others", *faults, operations=namesake)
    assert "session broken" in variant.delivery.verdicts
