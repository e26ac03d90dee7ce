"""Defects of brokers that the shipped cases find, whatever the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from broker_service.core.actions import ActionExecutor
from broker_service.core.client_sessions import ClientSessions
from broker_service.core.session import Client
from broker_service.messages import ClientId, ClientRequest, Kind
from broker_service.routing.cbf import CbfRouter
from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.interface import Action, Actions, Deliver, Router, Send
from broker_service.routing.medym import MedymRouter
from broker_service.routing.octopia import OctopiaRouter
from broker_service.routing.tid import TidRouter
from studies.conformance import PROTOCOLS, Case, CaseVerdict, SimulatedCaseRunner, read, run_case

SHIPPED = Path(__file__).resolve().parents[2] / "conformance"
CASES = {
    case.id: case
    for name in ("sessions", "many-publications", "withdrawals-passed-on")
    for case in read(SHIPPED / f"{name}.json")
    if isinstance(case, Case)
}
ROWS = ("tid-fixed", "octopia-spr", "cbf", "channelization", "semi-probabilistic", "medym-mst")
"""One for each router but Gryphon's, which asks again for what a neighbour has not sent, and knows repeats itself."""
ALL_ROWS = (*ROWS, "gryphon")
PASS_ON: Mapping[str, type[Router]] = {
    "tid-fixed": TidRouter,
    "octopia-spr": OctopiaRouter,
    "cbf": CbfRouter,
    "medym-mst": MedymRouter,
    "gryphon": GryphonRouter,
}
"""Rows whose brokers pass withdrawals on, and their routers."""


def fails(id: str, protocol: str) -> bool:
    result = run_case(CASES[id], PROTOCOLS[protocol], SimulatedCaseRunner())
    return result.verdict is CaseVerdict.FAILED


@pytest.mark.parametrize("protocol", ROWS)
def test_repeats_of_a_broken_session_are_routed_again(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = ClientSessions.publish

    def forgetful(self: ClientSessions, client: Client, request: ClientRequest) -> None:
        client.session.progress.last = 0
        publish(self, client, request)

    monkeypatch.setattr(ClientSessions, "publish", forgetful)
    assert fails("session-of-the-publisher-breaks-before-the-acknowledgement", protocol)


@pytest.mark.parametrize("protocol", ROWS)
def test_one_publication_of_200_is_not_sent_on(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _drop_one_of_200(Send, monkeypatch)
    assert fails("many-publications-none-missing", protocol)


@pytest.mark.parametrize("protocol", ALL_ROWS)
def test_one_publication_of_200_is_not_notified(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _drop_one_of_200(Deliver, monkeypatch)
    assert fails("many-publications-none-missing", protocol)


@pytest.mark.parametrize(("protocol", "router"), PASS_ON.items())
def test_withdrawals_are_never_passed_on(protocol: str, router: type[Router], monkeypatch: pytest.MonkeyPatch) -> None:
    unsubscribe = router.unsubscribe

    def silent(self: Router, client: ClientId, id: str) -> Actions:
        unsubscribe(self, client, id)
        return ()

    monkeypatch.setattr(router, "unsubscribe", silent)
    assert fails("withdrawn-subscription-attracts-no-publication", protocol)


def _drop_one_of_200(dropped: type[Send | Deliver], monkeypatch: pytest.MonkeyPatch) -> None:
    perform, number = ActionExecutor.perform, count(1)

    def is_kept(action: Action) -> bool:
        is_publication = isinstance(action, dropped) and action.message.kind is Kind.PUBLISH
        return not (is_publication and next(number) % 200 == 0)

    def lossy(self: ActionExecutor, actions: Actions) -> None:
        perform(self, [action for action in actions if is_kept(action)])

    monkeypatch.setattr(ActionExecutor, "perform", lossy)
