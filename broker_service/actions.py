"""Execution of a router's actions: messages to links, notifications to client sessions, timers, stable storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from broker_service.composites import Composites, lost_detection
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, ClientEvent, ClientId, Kind, Message, Outcome
from broker_service.publisher_gate import PublisherGate
from broker_service.router_timers import RouterTimers
from broker_service.routing.interface import (
    Actions,
    CancelTimer,
    Deliver,
    Erase,
    HoldPublishers,
    Recall,
    ReleasePublishers,
    Send,
    SetTimer,
    Store,
)
from broker_service.routing.matcher import Comparisons
from broker_service.sessions import Client, Session
from broker_service.storage import BoundedStorage
from broker_service.trace import Recorder
from record.log import Event

# Looked up once, because every message needs them.
_DELIVERED: Final = Event.DELIVERED
_NOTIFIED: Final = Outcome.NOTIFIED
_DETECTION_WORD: Final = Kind.DETECTION.word


class ActionExecutor:
    """Carries out the actions of one router on its broker's links, clients, timers, stable storage and publishers."""

    def __init__(
        self,
        links: Mapping[BrokerId, OverlayLink],
        clients: Mapping[ClientId, Client],
        *,
        timers: RouterTimers,
        storage: BoundedStorage,
        gate: PublisherGate,
        composites: Composites,
        comparisons: Comparisons,
        recorder: Recorder,
    ) -> None:
        self.delivered = 0
        """Notifications put into sessions."""
        self.returned: Callable[[BrokerId, Sequence[Message]], Actions] = _keep
        """`Router.returned`, set once the router exists."""
        self._links = links
        self._clients = clients
        self._timers = timers
        self._storage = storage
        self._gate = gate
        self._composites = composites
        self._comparisons = comparisons
        self._recorder = recorder

    def perform(self, actions: Actions) -> None:
        """Performs actions, and logs the router's comparisons, which is not part of its work."""
        if self._comparisons.pending:
            self._comparisons.log()
        for action in actions:
            if isinstance(action, Send):
                if action.label or action.ahead:
                    self._put_marked(action)
                else:
                    self._links[action.neighbour].put(action.message)
            elif isinstance(action, Deliver):
                self._deliver(action)
            elif isinstance(action, SetTimer):
                self._timers.set(action)
            elif isinstance(action, CancelTimer):
                self._timers.cancel(action.key)
            elif isinstance(action, Recall):
                self._recall(action.neighbour)
            else:
                self._keep_or_hold(action)

    def send(self, session: Session, event: ClientEvent) -> None:
        """Queues an event for a session; logs one that the session has no room for."""
        if not session.put(event):
            reason = "client session does not read"
            if event.publications:
                message = Message(Kind.DETECTION, event.publications[-1].id)
                reason = lost_detection(reason, event.id)
            else:
                message = Message(Kind.PUBLISH if event.outcome is _NOTIFIED else Kind.CONTROL, event.id)
            for client in event.clients:
                self._recorder.message(Event.DROPPED, message, client=client, text=reason, count=1)

    def _keep_or_hold(self, action: Store | Erase | HoldPublishers | ReleasePublishers) -> None:
        """Performs an action on stable storage or on publishers."""
        if isinstance(action, Store):
            self._storage.store(action.key, action.value)
        elif isinstance(action, Erase):
            self._storage.erase(action.key)
        elif isinstance(action, HoldPublishers):
            self._gate.close(action.reason)
        else:
            self._gate.open()

    def _put_marked(self, action: Send) -> None:
        """Queues a message that has a label or goes ahead of others."""
        message, link = action.message, self._links[action.neighbour]
        if action.label:
            message = msgspec.structs.replace(message, label=action.label)
        if action.ahead:
            link.put_ahead(message)
        else:
            link.put(message)

    def _recall(self, neighbour: BrokerId) -> None:
        messages = self._links[neighbour].recall()
        if messages:
            self.perform(self.returned(neighbour, messages))

    def _deliver(self, action: Deliver) -> None:
        """Queues one event for each session, however many of its clients are notified."""
        message = action.message
        by_session: dict[int, list[Client]] = {}
        others = False
        for name in action.clients:
            client = self._clients.get(name)
            if client is not None:
                by_session.setdefault(id(client.session), []).append(client)
            else:
                others = True
        for clients in by_session.values():
            names = tuple(client.id for client in clients)
            event = ClientEvent(_NOTIFIED, names, 0, message.id, message.body, message.hops, position=action.position)
            self.delivered += len(names)
            self._recorder.notifications(
                _DELIVERED, names, id=message.id, hops=message.hops, bytes=message.size, position=action.position
            )
            self.send(clients[0].session, event)
        if others:
            self._detect(action)

    def _detect(self, action: Deliver) -> None:
        """Notifies clients of the detections that a publication completes."""
        for event in self._composites.arrive(action.message, action.clients):
            client = self._clients[event.clients[0]]
            self.delivered += 1
            self._recorder.note(
                _DELIVERED, kind=_DETECTION_WORD, id=event.id, client=client.id, hops=0, bytes=event.contents_size
            )
            self.send(client.session, event)


def _keep(_neighbour: BrokerId, _messages: Sequence[Message]) -> Actions:
    """Stands in until the router exists."""
    return ()
