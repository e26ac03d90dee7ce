"""Operations of clients: each is carried out and confirmed, or rejected with a reason.

A publication is not confirmed; publications are acknowledged together (`publishing`). A client is attached to one
session at a time and may move to another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from broker_service.actions import ActionExecutor
from broker_service.clients.declaring import Declarations
from broker_service.clients.publishing import Publishing
from broker_service.composites import INTERNAL, Composites
from broker_service.config import BrokerConfig
from broker_service.errors import RefusedPublicationError, RejectedError
from broker_service.messages import (
    OPERATION_KINDS,
    SUBSCRIBING,
    ClientId,
    ClientRequest,
    Kind,
    Message,
    Operation,
    Outcome,
    answer,
)
from broker_service.routing.interface import Router
from broker_service.sessions.session import Client, Session
from broker_service.tracing.trace import Recorder
from record.log import Event

# Looked up once, because a member of an enumeration takes 0.1 us in Python 3.11 and every publication needs these.
_ATTACH: Final = Operation.ATTACH
_PUBLISH: Final = Operation.PUBLISH


class ClientOperations:
    """The operations of one broker's clients, which it adds to `clients` and removes from there."""

    def __init__(
        self,
        config: BrokerConfig,
        router: Router,
        actions: ActionExecutor,
        clients: dict[ClientId, Client],
        *,
        composites: Composites,
        publishing: Publishing,
        recorder: Recorder,
    ) -> None:
        self.rejected = 0
        self._id_prefix = f"{config.id}.{config.incarnation}"
        self._limits = config.limits
        self._actions = actions
        self._clients = clients
        self._recorder = recorder
        self._named = 0
        self._declarations = declarations = Declarations(
            router, composites, actions.perform, self.new_id, config.limits.declared_bytes
        )
        self._by_operation: Mapping[Operation, Callable[[Client, ClientRequest], None]] = {
            Operation.DETACH: self._detach,
            Operation.ADVERTISE: partial(declarations.declare, declarations.advertisements),
            Operation.UNADVERTISE: partial(declarations.retract, declarations.advertisements),
            Operation.SUBSCRIBE: partial(declarations.declare, declarations.subscriptions),
            Operation.UNSUBSCRIBE: partial(declarations.retract, declarations.subscriptions),
            Operation.COMPOSE: partial(declarations.declare, declarations.composites),
        }
        self._publishing = publishing

    def carry_out(self, session: Session, request: ClientRequest) -> None:
        """Carries out an operation of one of the session's clients, or rejects it."""
        try:
            if request.operation is _ATTACH:
                self._attach(session, request)
            else:
                self._operate(session, request)
        except RejectedError as error:
            self._reject(session, request, error)

    def withdraw(self, client: Client) -> None:
        """Detaches a client and withdraws its declarations."""
        self._declarations.withdraw(client)
        client.session.clients.pop(client.id, None)
        self._clients.pop(client.id, None)

    def _operate(self, session: Session, request: ClientRequest) -> None:
        client = session.clients.get(request.client)
        if client is None:
            raise RejectedError(f"client {request.client!r} is not attached to this session")
        operation = request.operation
        if operation is _PUBLISH:
            self._publishing.publish(client, request)
            return
        kind = OPERATION_KINDS.get(operation)
        if kind is not None:
            self._recorder.message(Event.RECEIVED, Message(kind, request.id, request.body), client=client.id)
        self._by_operation[operation](client, request)
        self._confirm(session, request)
        if operation in SUBSCRIBING:
            self._actions.repeat_announcement(client, request.id)

    def _attach(self, session: Session, request: ClientRequest) -> None:
        """A client that was attached to another session has moved here and starts without declarations."""
        if not request.client:
            raise RejectedError("a client needs a name")
        if request.client.startswith(INTERNAL):
            raise RejectedError(f"the name of a client does not begin with {INTERNAL!r}")
        former = self._clients.get(request.client)
        if former is not None:
            self.withdraw(former)
        elif len(self._clients) >= self._limits.clients:
            raise RejectedError(f"the broker has {len(self._clients)} clients already (limits.clients)")
        client = Client(request.client, session)
        self._clients[client.id] = client
        session.clients[client.id] = client
        self._confirm(session, request)

    def _detach(self, client: Client, _request: ClientRequest) -> None:
        self.withdraw(client)

    def new_id(self) -> str:
        """An identifier that no other broker and no other incarnation of this one makes."""
        self._named += 1
        return f"{self._id_prefix}.{self._named}"

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
