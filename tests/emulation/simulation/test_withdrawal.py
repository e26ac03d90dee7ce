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
from broker_service.routing.matcher import Matcher
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


@pytest.mark.source("it patches compiled classes")
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


@pytest.mark.source("it patches compiled classes")
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
