"""Clients' sessions and their operations: streams open, continue former ones, bring operations, and end.

1. Operations of a session are carried out in order. Each is confirmed, or rejected with a reason.
2. A publication is not confirmed; publications are acknowledged together. A session numbers its requests. In one that
   has a name, a publication whose number is not above the greatest handled one is a repeat, which the client sends
   because its stream broke before the acknowledgement came. It does not reach the router again, and is answered again
   if it was rejected.
3. While the router holds publishers, a publication waits in its session, and so does whatever the session brings behind
   it (`PublisherGate`). A publication that the router refuses was never accepted; its client gets the reason.
4. A client is attached to one session at a time and may move to another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from broker_service.core.actions import ActionExecutor
from broker_service.core.composites import INTERNAL
from broker_service.core.declaring import Declarations
from broker_service.core.session import Client, Session, SessionNames
from broker_service.core.surroundings import Surroundings
from broker_service.language import ContentError
from broker_service.language.content import conforms
from broker_service.messages import (
    ACKNOWLEDGED_AT_ONCE,
    OPERATION_KINDS,
    SUBSCRIBING,
    ClientRequest,
    Kind,
    Message,
    Operation,
    Outcome,
    answer,
)
from broker_service.routing.failures import FAILURES
from broker_service.routing.interface import RefusedPublicationError, RejectedError
from record.log import Event

# Looked up once, because a member of an enumeration takes 0.1 us in Python 3.11 and every publication needs these.
_PUBLISH: Final = Operation.PUBLISH
_PUBLISH_KIND: Final = Kind.PUBLISH


class ClientSessions:
    """Sessions of one broker's clients. Every call raises `BrokerDefectError` when the broker's own code fails."""

    def __init__(self, surroundings: Surroundings, actions: ActionExecutor) -> None:
        self.published = 0
        """Publications that the router has accepted."""
        self.rejected = 0
        """Operations that could not be carried out."""
        self._surroundings = surroundings
        self._limits = surroundings.limits
        self._clock = surroundings.clock
        self._stopwatch = surroundings.stopwatch
        self._comparisons = surroundings.comparisons
        self._recorder = surroundings.recorder
        self._defects = surroundings.defects
        self._actions = actions
        self._gate = actions.gate
        self._router = actions.router
        self._clients = actions.clients
        self._names = SessionNames(surroundings.limits.sessions)
        self._declarations = declarations = Declarations(surroundings, actions)
        self._by_operation: Mapping[Operation, Callable[[Client, ClientRequest], None]] = {
            Operation.DETACH: lambda client, _: self._withdraw(client),
            Operation.ADVERTISE: partial(declarations.declare, declarations.advertisements),
            Operation.UNADVERTISE: partial(declarations.retract, declarations.advertisements),
            Operation.SUBSCRIBE: partial(declarations.declare, declarations.subscriptions),
            Operation.UNSUBSCRIBE: partial(declarations.retract, declarations.subscriptions),
            Operation.COMPOSE: partial(declarations.declare, declarations.composites),
        }

    def open(self) -> Session:
        """A session for a new stream."""
        return Session(self._limits.session_queue, self._limits.queue_bytes, self._limits.unread)

    def name(self, session: Session, name: str) -> None:
        """The session continues the one that had this name: that one's clients are withdrawn, its progress is kept."""
        former = self._names.enter(session, name)
        if former is not None:
            self.close(former)

    def close(self, session: Session) -> None:
        """The session has ended: its clients' advertisements and subscriptions are withdrawn."""
        session.ended = True
        self._names.leave(session)
        for request in self._gate.take(session):
            if request.operation is _PUBLISH and not session.continued:
                message = Message(Kind.PUBLISH, request.id, request.body)
                reason = f"session ended while publishers were held: {self._gate.reason}"
                self._surroundings.report_dropped(message, reason)
        for client in list(session.clients.values()):
            with self._defects.handling("the withdrawal of client {!r}", client.id):
                self._withdraw(client)

    def handle(self, session: Session, requests: Sequence[ClientRequest]) -> None:
        """Carries out operations of a session's clients, in order. One that cannot be carried out is rejected.

        Requests of a session that has ended are ignored, because the client repeats them in its next one. The session
        decides when to acknowledge what was handled; the shell calls `Session.wake` at its `wake_at`.
        """
        if session.ended:
            return
        gate = self._gate
        if session.held:
            gate.keep(session, requests)
            return
        for position, request in enumerate(requests):
            if gate.closed and request.operation is _PUBLISH:
                gate.keep(session, requests[position:])
                break
            try:
                try:
                    client = session.clients.get(request.client)
                    if client is not None and request.operation is _PUBLISH:
                        self.publish(client, request)
                    else:
                        self.carry_out(session, request)
                except RejectedError as error:
                    self._reject(session, request, error)
            except FAILURES as error:
                occasion = f"{request.operation.name.lower()} {request.id!r} of client {request.client!r}"
                raise self._defects.report(error, occasion, request.operation.name.lower()) from error
        if session.wake_at is None or session.handled - session.acknowledged >= ACKNOWLEDGED_AT_ONCE:
            session.plan_acknowledgement(self._clock())

    def resume(self, session: Session) -> None:
        """Handles the requests that a session has held back, unless publishers are held again."""
        if not self._gate.closed:
            self.handle(session, self._gate.take(session))

    def carry_out(self, session: Session, request: ClientRequest) -> None:
        """Carries out an operation of one of the session's clients other than a publication.

        Raises `RejectedError`, for a publication of a client that is not attached, too.
        """
        if request.operation is Operation.ATTACH:
            self._attach(session, request)
            return
        client = session.clients.get(request.client)
        if client is None:
            raise RejectedError(f"client {request.client!r} is not attached to this session")
        self._declare(client, request)

    def publish(self, client: Client, request: ClientRequest) -> None:
        """Publications are recorded as messages of neighbours are; a rejected one did not reach the router.

        Raises `RejectedError`.
        """
        session, number, comparisons = client.session, request.number, self._comparisons
        progress, session.handled = session.progress, number
        if number <= progress.last and session.name:
            reason = progress.rejection(number)
            if reason is not None:
                self._actions.send(session, answer(request, Outcome.REJECTED, reason))
            return
        came = self._clock()
        message = Message(_PUBLISH_KIND, request.id, request.body, b"", 0, "", request.published or came)
        try:
            try:
                publication = comparisons.decode(request.body)
            except ContentError as error:
                raise RejectedError(str(error)) from None
            for advertised in client.advertisements.values():  # oldest first
                if conforms(publication, advertised.content):
                    break
            else:
                raise RejectedError(f"publication {request.id!r} conforms to no advertisement of client {client.id!r}")
            began = self._stopwatch()
            actions = self._router.publish(client.id, message, publication, advertised.id)
        except RejectedError:
            comparisons.discard()
            self._recorder.received(message, came, None, None, client.id, arrived=session.came)
            raise
        took = self._stopwatch() - began - comparisons.decoding
        progress.last = max(progress.last, number)
        self.published += 1
        self._recorder.received(message, came, took, None, client.id, arrived=session.came)
        self._actions.perform(actions)

    def _declare(self, client: Client, request: ClientRequest) -> None:
        """Carries out an operation of an attached client other than a publication."""
        operation = request.operation
        kind = OPERATION_KINDS.get(operation)
        if kind is not None:
            self._recorder.message(Event.RECEIVED, Message(kind, request.id, request.body), client=client.id)
        session = client.session
        self._by_operation[operation](client, request)
        self._confirm(session, request)
        if operation in SUBSCRIBING and client.subscriptions[request.id].started:  # a repeated one
            self._actions.notify_of_start(client, request.id)

    def _attach(self, session: Session, request: ClientRequest) -> None:
        """A client that was attached to another session has moved here and starts without declarations."""
        if not request.client:
            raise RejectedError("a client needs a name")
        if request.client.startswith(INTERNAL):
            raise RejectedError(f"the name of a client does not begin with {INTERNAL!r}")
        former = self._clients.get(request.client)
        if former is not None:
            self._withdraw(former)
        elif len(self._clients) >= self._limits.clients:
            raise RejectedError(f"the broker has {len(self._clients)} clients already (limits.clients)")
        client = Client(request.client, session)
        self._clients[client.id] = client
        session.clients[client.id] = client
        self._confirm(session, request)

    def _withdraw(self, client: Client) -> None:
        """Detaches a client and withdraws its declarations."""
        self._declarations.withdraw(client)
        client.session.clients.pop(client.id, None)
        self._clients.pop(client.id, None)

    def _confirm(self, session: Session, request: ClientRequest) -> None:
        self._actions.send(session, answer(request, Outcome.CONFIRMED))

    def _reject(self, session: Session, request: ClientRequest, error: RejectedError) -> None:
        self.rejected += 1
        reason = str(error)
        event = Event.REFUSED if isinstance(error, RefusedPublicationError) else Event.REJECTED
        if request.operation is _PUBLISH:
            session.progress.reject(request.number, reason)
        message = Message(OPERATION_KINDS.get(request.operation, Kind.CONTROL), request.id, request.body)
        self._recorder.message(event, message, client=request.client, text=reason)
        self._actions.send(session, answer(request, Outcome.REJECTED, reason))
