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
from broker_service.core.session import Session
from broker_service.messages import ClientEvent, Outcome
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
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
brokers: {{limits: {{session_queue: 60}}}}
seed: 2
"""
UNREAD = "its client did not read, and its broker's policy let it cost that"


def judged(directory: Path, policy: str) -> VariantSummary:
    plan = make_plan(load_text(SCENARIO.format(policy=policy), "slow.yaml"))
    run = simulate(plan, directory / "runs")
    (variant,) = analyze(run.directory, PlainEngine()).variants
    return variant


@pytest.mark.parametrize(
    ("policy", "cost"),
    [
        (UnreadPolicy.DROP_NEWEST, UNREAD),
        pytest.param(UnreadPolicy.DROP_OLDEST, UNREAD, marks=pytest.mark.proof),
        (UnreadPolicy.END_SESSION, "its session"),
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
