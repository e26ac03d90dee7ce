"""Defects of brokers and of the client library that show when clients change their broker, and moves that are not what
their records say."""

from __future__ import annotations

from dataclasses import replace

from broker_service.client_library.client_requests import ClientRequests
from broker_service.core.client_sessions import ClientSessions
from broker_service.core.session import Session
from broker_service.messages import Operation, Outcome
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.tid.router import TidRouter
from emulation.simulation.access import AccessLinks
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.site_session import SiteSession
from emulation.simulation.sites import SimulatedSites
from record.callbacks import do_nothing
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around
from tests.gauntlet.rows.routers import DUPLICATED, LOST

MOVES = Area("moves")
MOVES_MADE = Area("moves as they were made")

_HARD = {"at": "run+1s", "move": "berlin", "to": "B4"}
_SOFT = {"at": "run+1s", "move": "berlin", "to": "B4", "handover": "make before break", "overlap": "2s"}
_AWAY = {"at": "run+1s", "crash": "S1", "for": "1s"}
_OF_PUBLISHER = {"at": "run+1s", "move": "market", "to": "B5"}
_SITES = {
    "clients": {
        "sites": {
            "berlin": {"broker": "B1", "clients": ["S1"], "delay": "5ms"},
            "market": {"broker": "B1", "clients": ["P1"], "delay": "5ms"},
        }
    },
    "brokers": {"limits": {"heartbeat": "200ms"}},
}


def _on_sites(scenario: scenarios.Scenario, name: str, fault: scenarios.Fault) -> scenarios.Scenario:
    return scenario.suffering(name, fault, run="9s").but(f"{scenario.name}, {name}", _SITES)


_TID = _on_sites(scenarios.TID_FIXED, "a move without a word", _HARD)
_TID_SOFT = _on_sites(scenarios.TID_FIXED, "a move with both sessions", _SOFT)
_TID_CRASH = _on_sites(scenarios.TID_FIXED, "a crash of a client", _AWAY)
_CBF = _on_sites(scenarios.CBF, "a move of a publisher", _OF_PUBLISHER)


@MOVES.row(_TID, r"^session stays: .*S1")
def the_old_broker_never_ends_the_session() -> None:
    around(SiteSession, "lost_at_broker", lambda original, self: do_nothing)


@MOVES.row(_TID, r"^not renewed: .*of S1 did not come to B4 after the move from B1")
def the_new_broker_ignores_renewed_subscriptions() -> None:
    seen: set[str] = set()

    def carry_out(original, self, session, request):
        if request.client == "S1" and request.operation is Operation.SUBSCRIBE:
            if request.id in seen:
                return
            seen.add(request.id)
        original(self, session, request)

    around(ClientSessions, "carry_out", carry_out)


@MOVES.row(_TID, LOST)
def the_new_broker_confirms_renewed_subscriptions_and_does_not_make_them() -> None:
    _confirms_and_does_not_make("B4")


@MOVES.row(_TID_SOFT, LOST)
def the_new_broker_of_a_soft_handover_makes_no_subscription() -> None:
    """Its old broker serves the client while this has both sessions, and nothing shows."""
    _confirms_and_does_not_make("B4")


def _confirms_and_does_not_make(broker: str) -> None:
    """The broker takes subscriptions of S1, and routes nothing by them."""
    skipped: set[str] = set()

    def subscribe(original, self, client, id, subscription):
        if client == "S1" and self._context.broker == broker:
            skipped.add(id)
            return ()
        return original(self, client, id, subscription)

    around(TidRouter, "subscribe", subscribe)
    around(
        TidRouter,
        "unsubscribe",
        lambda original, self, client, id: () if id in skipped else original(self, client, id),
    )


@MOVES.row(_TID, DUPLICATED)
def a_hard_handover_doubles_notifications() -> None:
    """The library tells its client again, in its new session, of the last that came in the old one."""
    came: dict[int, list[object]] = {}

    def receive(original, self, frame):
        came.setdefault(id(self), []).extend(event for event in frame.events if event.outcome is Outcome.NOTIFIED)
        original(self, frame)

    def succeed(original, self, former):
        original(self, former)
        for event in came.get(id(former), [])[-3:]:
            self._on_event(event)

    around(ClientRequests, "receive", receive)
    around(ClientRequests, "succeed", succeed)


@MOVES.row(_TID_SOFT, DUPLICATED)
def the_new_broker_of_a_soft_handover_notifies_twice() -> None:
    """Once from each of the two brokers is what the handover may double, and no more."""
    again = EveryNth(4)
    of_client: dict[int, None] = {}

    def put(original, self, event):
        if event.outcome is Outcome.NOTIFIED and "S1" in event.clients:
            of_client.setdefault(id(self))
            if len(of_client) > 1 and id(self) != next(iter(of_client)) and again():
                original(self, event)
        return original(self, event)

    around(Session, "put", put)


@MOVES.row(_CBF, r"^lost: P1:\d+ for ")
def the_old_broker_loses_what_it_had_accepted() -> None:
    """It holds a publication back until the next one comes from the same client, and the last one for ever."""
    held: list[tuple[object, ...]] = []

    def publish(original, self, client, message, publication, advertisement):
        if client != "P1" or self._context.broker != "B1":
            return original(self, client, message, publication, advertisement)
        held.append((client, message, publication, advertisement))
        return original(self, *held.pop(0)) if len(held) > 1 else []

    around(CbfRouter, "publish", publish)


@MOVES.row(_CBF, r"^lost: P1:\d+ for ")
def the_new_broker_loses_publications_until_advertisements_have_settled() -> None:
    """No subscription follows an advertisement there."""
    skipped: list[str] = []

    def publish(original, self, client, message, publication, advertisement):
        if client == "P1" and self._context.broker == "B5" and len(skipped) < 5:
            skipped.append(message.id)
            return []
        return original(self, client, message, publication, advertisement)

    around(CbfRouter, "publish", publish)


@MOVES.row(_TID, LOST)
def a_late_withdrawal_at_the_old_broker_ends_the_subscription_at_the_new_one() -> None:
    """The withdrawal comes once the old session has ended by silence, two seconds after the client came to the new."""
    brokers: dict[int, ClientSessions] = {}

    def attach(original, self, session, request):
        brokers[id(self)] = self
        return original(self, session, request)

    def close(original, self, session):
        moved = "S1" in session.clients
        original(self, session)
        for other in brokers.values() if moved else ():
            client = other._clients.get("S1")
            if other is not self and client is not None:
                original(other, client.session)

    around(ClientSessions, "_attach", attach)
    around(ClientSessions, "close", close)


@MOVES.row(_TID_CRASH, r"^not renewed: |^lost: ")
def a_client_that_crashed_does_not_subscribe_again() -> None:
    around(ClientRequests, "_all_declared", lambda original, self: iter(()))


@MOVES_MADE.row(_TID, r"berlin")
def the_access_link_of_the_old_broker_still_carries() -> None:
    """The client is served by both brokers, though it has left the old one."""
    around(OpenSessions, "abandon", lambda original, self, session: None)
    around(AccessLinks, "remove", lambda original, self, site: None)


@MOVES_MADE.row(_TID, r"berlin")
def a_move_that_did_not_happen() -> None:
    around(SimulatedSites, "depart", lambda original, self, move: None)
    around(SimulatedSites, "arrive", lambda original, self, move: None)


@MOVES_MADE.row(_TID, r"berlin")
def a_move_to_another_broker() -> None:
    """The site goes to B5, and its record says B4."""

    def elsewhere(original, self, move):
        original(self, replace(move, to="B5"))

    around(SimulatedSites, "depart", elsewhere)
    around(SimulatedSites, "arrive", elsewhere)


@MOVES_MADE.row(_TID, r"berlin|[Ss]ession.*S1|S1.*session")
def a_client_that_does_not_look_for_its_new_broker() -> None:
    def connect(original, self, broker):
        if broker.core.id != "B4":
            original(self, broker)

    around(SiteSession, "connect", connect)
