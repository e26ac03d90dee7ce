"""Clients that read at a rate, in whole simulated runs: their cost is their own, and brokers that break the policy on
what is not read are named by the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from broker_service.config import BrokerConfig
from broker_service.core.session import Session
from broker_service.messages import ClientEvent, Outcome
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from emulation.simulation.server import work_of
from record.time_units import MILLISECOND, SECOND
from record.unread import UnreadPolicy
from scenario.loading import load_text

SCENARIO = """
name: slow
topology: {{kind: line, brokers: 2, link: {{delay: 5ms}}}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, symbols: 2, publishers: 1, rate: 300/s, placement: [B1]}}
  subscriptions: {{subscribers: 2, selectivity: 90%, placement: [B2]}}
clients:
  unread: {policy}
  sites:
    slow: {{broker: B2, clients: [S1], delay: 10ms, reads: 40/s}}
    quick: {{broker: B2, clients: [S2], delay: 10ms}}
timeline: {{join: 1s, run: 4s, drain: 14s}}
seed: 2
brokers:
  limits: {{session_queue: 60}}
"""
UNREAD = "its client did not read, and its broker's policy let it cost that"


def judged(directory: Path, policy: str, more: str = "") -> VariantSummary:
    plan = make_plan(load_text(SCENARIO.format(policy=policy) + more, "slow.yaml"))
    run = simulate(plan, directory / "runs")
    (variant,) = analyze(run.directory, PlainEngine()).variants
    return variant


@pytest.mark.parametrize(
    ("policy", "cost"),
    [
        (UnreadPolicy.DROP_NEWEST, UNREAD),
        pytest.param(UnreadPolicy.DROP_OLDEST, UNREAD, marks=pytest.mark.proof),
        (UnreadPolicy.END_SESSION, "their session"),
    ],
)
def test_a_slow_reader_costs_itself_what_the_policy_says(tmp_path: Path, policy: UnreadPolicy, cost: str) -> None:
    variant = judged(tmp_path, policy)
    assert variant.delivery.verdicts == ["correct"]
    assert variant.fidelity == "VALID"
    assert cost in variant.delivery.power.in_words()
    assert variant.delivery.lost == 0
    assert variant.delay.p50_ms is not None
    assert variant.delay.p50_ms < 100


def _drops_each_third(put: Callable[..., Any]) -> Callable[..., Any]:
    """A broker that drops though there is room, and says so to everybody."""

    def dropping(session: Session, event: ClientEvent) -> Any:
        if event.outcome is Outcome.NOTIFIED and event.clients == ("S1",) and event.id.endswith(("3", "6", "9")):
            session._untold.update(event.clients)
            return [event]
        return put(session, event)

    return dropping


def _with(policy: UnreadPolicy) -> Callable[..., Any]:
    def made(init: Callable[..., Any]) -> Callable[..., Any]:
        return lambda session, limit, most_bytes, _: init(session, limit, most_bytes, policy)

    return made


@pytest.mark.parametrize(
    ("policy", "method", "wrap"),
    [
        (UnreadPolicy.DROP_NEWEST, "put", _drops_each_third),
        pytest.param(UnreadPolicy.DROP_NEWEST, "__init__", _with(UnreadPolicy.DROP_OLDEST), marks=pytest.mark.proof),
        pytest.param(UnreadPolicy.DROP_OLDEST, "__init__", _with(UnreadPolicy.DROP_NEWEST), marks=pytest.mark.proof),
        (UnreadPolicy.DROP_NEWEST, "_tell", lambda _: lambda _session: []),
    ],
)
def test_drops_that_the_policy_does_not_allow_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: UnreadPolicy, method: str, wrap: Callable[..., Any]
) -> None:
    monkeypatch.setattr(Session, method, wrap(getattr(Session, method)))
    variant = judged(tmp_path, policy)
    assert variant.delivery.verdicts == ["lost"]
    assert {example.client for example in variant.delivery.examples} == {"S1"}


def test_a_session_that_ends_against_the_policy_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "__init__", _with(UnreadPolicy.END_SESSION)(Session.__init__))
    variant = judged(tmp_path, UnreadPolicy.DROP_NEWEST)
    assert "session broken" in variant.delivery.verdicts


FULL = 60
"""Notifications that fill a session."""
READING = round(SECOND / 40)
"""Time that the slow reader takes for a notification."""


def _waiting_for_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker whose session writer blocks its turn: while a session is full, each frame waits for the reader."""
    full: set[Session] = set()

    def put(session: Session, event: ClientEvent) -> Any:
        if session.waiting >= FULL - 1:
            full.add(session)
        return original_put(session, event)

    def take(session: Session, *arguments: Any) -> Any:
        full.discard(session)
        return original_take(session, *arguments)

    def blocking(config: BrokerConfig, *arguments: Any) -> Any:
        work = original_work(config, *arguments)
        if config.id != "B2":
            return work
        return lambda messages: [(some, time + READING * bool(full)) for some, time in work(messages)]

    original_put, original_take, original_work = Session.put, Session.take, work_of
    monkeypatch.setattr(Session, "put", put)
    monkeypatch.setattr(Session, "take", take)
    monkeypatch.setattr("emulation.simulation.brokers.work_of", blocking)


def test_a_broker_that_delays_others_because_of_a_slow_reader_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _waiting_for_the_reader(monkeypatch)
    variant = judged(tmp_path, UnreadPolicy.DROP_NEWEST)
    assert "held up by a slow reader" in variant.delivery.verdicts
    (example,) = [example for example in variant.delivery.examples if example.defect == "held up by a slow reader"]
    assert example.reached == ["B2"]
    assert "(slow)" in example.detail


@pytest.mark.proof
def test_a_broker_that_has_more_work_than_it_can_do_is_not_named(tmp_path: Path) -> None:
    """Others wait while the slow reader's session is full, but for the broker's own work."""
    variant = judged(tmp_path, UnreadPolicy.DROP_NEWEST, "  service_time: 4ms\n")
    assert variant.delivery.verdicts == ["correct"]
    budget = variant.delay.budget
    assert budget
    assert budget.parts.waiting_at_brokers_ms > 4 * READING / MILLISECOND
