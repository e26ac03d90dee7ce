"""Client sessions of one broker: streams open, continue former ones, bring operations, and end.

Operations of a session are carried out in order. While the router holds publishers, a publication waits in its session,
and so does whatever the session brings behind it (`publisher_gate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from broker_service.clients.client_operations import ClientOperations
from broker_service.config import Limits
from broker_service.defects import DefectReports
from broker_service.messages import ClientRequest, Kind, Message, Operation
from broker_service.sessions.publisher_gate import PublisherGate
from broker_service.sessions.session import Session, SessionNames

_PUBLISH: Final = Operation.PUBLISH  # looked up once: a member of an enumeration takes 0.1 us in Python 3.11


class ClientSessions:
    """Sessions of one broker's clients. `report_dropped` counts and records a publication that ends here.

    Every call raises `BrokerDefectError` when the broker's own code fails.
    """

    def __init__(
        self,
        limits: Limits,
        gate: PublisherGate,
        operations: ClientOperations,
        defects: DefectReports,
        report_dropped: Callable[[Message, str], None],
    ) -> None:
        self._limits = limits
        self._gate = gate
        self._operations = operations
        self._defects = defects
        self._report_dropped = report_dropped
        self._names = SessionNames(limits.sessions)

    def open(self) -> Session:
        """A session for a new stream."""
        return Session(self._limits.session_queue, self._limits.queue_bytes)

    def name(self, session: Session, name: str) -> None:
        """The session continues the one that had this name: that one's clients are withdrawn, its progress is kept."""
        former = self._names.enter(session, name)
        if former is not None:
            self.close(former)

    def close(self, session: Session) -> None:
        """The session has ended: its clients' advertisements and subscriptions are withdrawn."""
        self._names.leave(session)
        for request in self._gate.take(session):
            if request.operation is _PUBLISH and not session.continued:
                message = Message(Kind.PUBLISH, request.id, request.body)
                self._report_dropped(message, f"session ended while publishers were held: {self._gate.reason}")
        for client in list(session.clients.values()):
            with self._defects.handling("the withdrawal of client {!r}", client.id):
                self._operations.withdraw(client)

    def handle(self, session: Session, requests: Sequence[ClientRequest]) -> None:
        """Carries out operations of a session's clients, in order. One that cannot be carried out is rejected.

        Requests of a session that another stream has continued are ignored, because the client repeats them there.
        """
        if session.continued:
            return
        gate = self._gate
        if session.held:
            gate.keep(session, requests)
            return
        for position, request in enumerate(requests):
            if gate.closed and request.operation is _PUBLISH:
                gate.keep(session, requests[position:])
                return
            try:
                self._operations.carry_out(session, request)
            except Exception as error:
                occasion = f"{request.operation.name.lower()} {request.id!r} of client {request.client!r}"
                raise self._defects.report(error, occasion) from error

    def resume(self, session: Session) -> None:
        """Handles the requests that a session has held back, unless publishers are held again."""
        if not self._gate.closed:
            self.handle(session, self._gate.take(session))
