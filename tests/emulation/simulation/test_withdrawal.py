"""Routing state that is left when all clients have gone is found by the run itself, and is its verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import CORRECT, STATE_LEFT, Summary
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Kind, Message
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.interface import Matcher, Router
from broker_service.routing.medym.router import MedymRouter
from broker_service.routing.registry import PROTOCOLS as PROTOCOLS_KNOWN
from broker_service.routing.tid.router import TidRouter
from command_line.commands.verdicts import exit_code
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.exit_codes import ExitCode
from scenario.loading import load_text

SCENARIO = """
name: withdrawal
topology: {kind: scot, clusters: 2, acyclic: [[a, b], [b, c]], link: {delay: 2ms}}
routing: {protocol: %s}
workload:
  operations:
    - {at: 0s, client: P, broker: a0, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 1s, client: S, broker: c1, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 3s, client: P, broker: a0, id: p1, publish: "[class,'STOCK']"}
timeline: {join: 2s, run: 2s, drain: 1s%s}
"""
WITHDRAW = ", withdraw: 5s"
PROTOCOLS = ("tid, publications: fixed", "tid, publications: dynamic", "octopia, publications: static")


def run(out: Path, protocol: str, withdraw: str = WITHDRAW) -> tuple[Path, Summary]:
    outcome = simulate(make_plan(load_text(SCENARIO % (protocol, withdraw), "withdrawal.yaml")), out)
    return outcome.directory, analyze(outcome.directory, PlainEngine())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_overlay_that_all_clients_have_left_is_as_it_was_at_first(tmp_path: Path, protocol: str) -> None:
    directory, summary = run(tmp_path, protocol)
    assert manifest.read(directory).variants[0].remaining_state == {}
    assert summary.delivery == [CORRECT]


def test_without_the_option_tables_are_not_looked_at(tmp_path: Path) -> None:
    directory, _ = run(tmp_path, PROTOCOLS[0], "")
    assert manifest.read(directory).variants[0].remaining_state is msgspec.UNSET
    assert b"remaining_state" not in (directory / "manifest.json").read_bytes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unsubscription_that_is_not_passed_to_the_last_next_hop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    whole = OverlayLink.put

    def put(self: OverlayLink, message: Message) -> None:
        if not (message.kind is Kind.UNSUBSCRIBE and self.neighbour.startswith("a")):
            whole(self, message)

    monkeypatch.setattr(OverlayLink, "put", put)
    _, summary = run(tmp_path, protocol)
    assert_state_left(summary, "matching_index still holds")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_subscription_that_stays_in_the_matching_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setattr(Matcher, "remove", lambda self, key: None)
    _, summary = run(tmp_path, protocol)
    assert_state_left(summary, "matching_index still holds 1")


def assert_state_left(summary: Summary, text: str) -> None:
    assert summary.delivery == summary.variants[0].delivery.verdicts == [STATE_LEFT]
    assert exit_code(summary) is ExitCode.VIOLATED
    examples = summary.variants[0].delivery.examples
    assert all(example.defect == STATE_LEFT for example in examples)
    assert any(text in example.detail for example in examples)


EVERYWHERE = """
name: everywhere
topology: {topology}
routing: {routing}
workload:
  publications: {{publishers: 3, rate: 4/s}}
  subscriptions: {{subscribers: 8, selectivity: 20%}}
timeline: {{join: 4s, run: 3s, drain: 2s, withdraw: 10s}}
"""
MESH = "{kind: full, brokers: 4, link: {delay: 2ms}}"
SCOT = "{kind: scot, clusters: 2, acyclic: [[a, b], [b, c]], link: {delay: 2ms}}"
REDUNDANT = "{kind: paper, name: gryphon-failure, link: {delay: 5ms}}"
RANDOM = "{kind: random-regular, brokers: 6, degree: 3, link: {delay: 2ms}}"
OVERLAYS = {
    "{protocol: tid, publications: fixed}": RANDOM,
    "{protocol: tid, publications: dynamic}": RANDOM,
    "{protocol: octopia, publications: static}": SCOT,
    "{protocol: octopia, publications: inter-cluster-dynamic}": SCOT,
    "{protocol: medym}": MESH,
    "{protocol: medym, announce_every: 500ms}": MESH,
    "{protocol: medym, subscriptions: advertised}": MESH,
    "{protocol: cbf}": RANDOM,
    "{protocol: cbf, advertisements: true, aggregation: covering}": RANDOM,
    "{protocol: channelization, channels: 3}": MESH,
    "{protocol: gryphon}": REDUNDANT,
    "{protocol: semi-probabilistic}": RANDOM,
}
"""An overlay for each protocol."""


def run_everywhere(out: Path, routing: str) -> Summary:
    text = EVERYWHERE.format(topology=OVERLAYS[routing], routing=routing)
    outcome = simulate(make_plan(load_text(text, "everywhere.yaml")), out)
    return analyze(outcome.directory, PlainEngine())


def test_every_protocol_is_among_them() -> None:
    assert {routing.split(":")[1].split(",")[0].strip(" }") for routing in OVERLAYS} == set(PROTOCOLS_KNOWN)


@pytest.mark.parametrize("routing", OVERLAYS)
def test_an_honest_router_is_blamed_on_no_overlay(tmp_path: Path, routing: str) -> None:
    summary = run_everywhere(tmp_path, routing)
    assert STATE_LEFT not in summary.delivery
    assert summary.variants[0].delivery.published > 0


@pytest.mark.parametrize(
    ("router", "routing"),
    [
        (TidRouter, "{protocol: tid, publications: fixed}"),
        (MedymRouter, "{protocol: medym}"),
        (CbfRouter, "{protocol: cbf}"),
    ],
)
def test_a_router_that_never_removes_a_withdrawn_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, router: type[Router], routing: str
) -> None:
    monkeypatch.setattr(router, "unsubscribe", lambda self, client, id: ())
    assert_state_left(run_everywhere(tmp_path, routing), " still holds ")


def test_a_lazy_index_that_keeps_what_the_table_gave_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEDYM's sums are right, and publications would be matched against subscriptions that are withdrawn."""
    monkeypatch.setattr(Matcher, "remove", lambda self, key: None)
    assert_state_left(run_everywhere(tmp_path, "{protocol: medym}"), "matching_index still holds")
