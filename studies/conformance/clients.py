"""The clients of a case: the broker of each, its operations, and its notifications.

A client that a step places at another broker than before *moves*: it detaches from the old broker, which withdraws all
that the client advertised and subscribed to there, and once the old broker has taken that, it attaches to the new one
with nothing. Its declarations there are further steps of the case. Moving is part of the step: the overlay does not
settle in between. A client whose old broker is down attaches to the new one in the same way.

A client that *leaves* and *arrives* by steps of its own, that a fault strikes, or that has an access link, has sessions
of its own, as on a host with a network. It moves as real ones do: its library declares anew what stands, and what is
asked of it while it is away waits in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from broker_service.messages import BrokerId, ClientEvent, ClientId, Operation, Outcome
from emulation.drivers.clients import Session
from studies.conformance.case_runner import CaseRun
from studies.conformance.model import (
    Arriving,
    CaseAccess,
    ClientFault,
    ClientStep,
    Declaration,
    Leaving,
    Notification,
)

_OPERATIONS: Mapping[str, Operation] = {
    "advertise": Operation.ADVERTISE,
    "unadvertise": Operation.UNADVERTISE,
    "subscribe": Operation.SUBSCRIBE,
    "unsubscribe": Operation.UNSUBSCRIBE,
    "composite": Operation.COMPOSE,
    "publish": Operation.PUBLISH,
}


class CaseClients:
    """All clients at a broker share one session with it, opened at the beginning, when all brokers run; but for those
    on hosts of their own, each of which has its own."""

    def __init__(
        self,
        run: CaseRun,
        brokers: set[BrokerId],
        apart: Mapping[ClientId, BrokerId],
        access: Mapping[ClientId, CaseAccess],
    ) -> None:
        """`apart` has the first broker of each client with sessions of its own, `access` the access links of some."""
        self.got: dict[ClientId, list[Notification]] = defaultdict(list)
        """Notifications in the order of their arrival."""
        self.refused: list[str] = []
        """Brokers' reasons for rejecting operations."""
        self.places: dict[ClientId, BrokerId] = {}
        """Broker of each client."""
        self._run = run
        self._sessions: dict[BrokerId, Session] = {
            broker: run.open_session(broker, self._receive) for broker in sorted(brokers)
        }
        self._own: dict[ClientId, Session] = {}
        """The latest session of each client that has its own."""
        self._at: dict[ClientId, list[BrokerId]] = defaultdict(list)
        """The brokers with which such a client has sessions, in the order of its arrivals."""
        self._access = {client: access.get(client, CaseAccess()) for client in apart}
        for client, broker in sorted(apart.items()):
            self._open_own(client, broker)
            self._own[client].submit(client, Operation.ATTACH)

    def perform(self, step: ClientStep) -> None:
        """Hands a step over to the client's broker, and before it what attaches the client there."""
        if step.client not in self._own:
            self._place(step.client, step.broker)
        session = self._own.get(step.client) or self._sessions[step.broker]
        body = step.body if isinstance(step, Declaration) else b""
        for id in step.ids if isinstance(step, Declaration) else (step.id,):
            session.submit(step.client, _OPERATIONS[step.op], id, body)

    def leave(self, step: Leaving) -> None:
        """Has a client leave the broker that it has been with for longest."""
        self._run.leave(step.client, self._at[step.client].pop(0), step.how)

    def arrive(self, step: Arriving) -> None:
        """Has a client open a session with a broker."""
        if step.access is not None:
            self._access[step.client] = step.access
        self._open_own(step.client, step.broker)

    def strike(self, step: ClientFault) -> None:
        """Has a fault of a client begin or end, where the client arrived last."""
        self._run.strike(step.client, self.places[step.client], step.op)

    def _open_own(self, client: ClientId, broker: BrokerId) -> None:
        self._own[client] = self._run.open_own(client, broker, self._receive, self._access[client])
        self._at[client].append(broker)
        self.places[client] = broker

    def _place(self, client: ClientId, broker: BrokerId) -> None:
        former = self.places.get(client)
        if former == broker:
            return
        if former is not None:
            self._sessions[former].submit(client, Operation.DETACH)
            self._run.hand_over()
        self._sessions[broker].submit(client, Operation.ATTACH)
        self.places[client] = broker

    def _receive(self, event: ClientEvent) -> None:
        if event.outcome is Outcome.NOTIFIED:
            detected = tuple(publication.id for publication in event.publications)
            for client in event.clients:
                self.got[client].append(detected or event.id)
        elif event.outcome is Outcome.REJECTED:
            self.refused.append(event.reason)
