"""Execution of a router's actions: messages to links, notifications to client sessions, timers, stable storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from broker_service.composites import INTERNAL, Composites, UnitDetection, lost_detection
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, ClientEvent, ClientId, Kind, Message, Outcome
from broker_service.router_timers import RouterTimers
from broker_service.routing.interface import (
    Action,
    Actions,
    AnnounceLoss,
    AnnounceStart,
    CancelTimer,
    Cease,
    Contribute,
    Deliver,
    Detect,
    Erase,
    HoldPublishers,
    Notify,
    Recall,
    RecordPlacement,
    ReleasePublishers,
    Router,
    Send,
    SetTimer,
    Store,
)
from broker_service.routing.matcher import Comparisons
from broker_service.sessions.publisher_gate import PublisherGate
from broker_service.sessions.session import Client, Session
from broker_service.storage import BoundedStorage
from broker_service.tracing.trace import Recorder
from record.log import Event

# Looked up once, because every message needs them.
_DELIVERED: Final = Event.DELIVERED
_NOTIFIED: Final = Outcome.NOTIFIED
_STARTED: Final = Outcome.STARTED
_DETECTION_WORD: Final = Kind.DETECTION.word
_COMPOSE_WORD: Final = Kind.COMPOSE.word


class ActionExecutor:
    """Carries out the actions of one router on its broker's links, clients, timers, stable storage and publishers."""

    router: Router
    """The router, set once it exists: it is made after the executor."""
    new_id: Callable[[], str]
    """Makes identifiers of subscriptions for the overlay; set once the router exists."""

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
        self._links = links
        self._clients = clients
        self._timers = timers
        self._storage = storage
        self._gate = gate
        self._composites = composites
        self._comparisons = comparisons
        self._recorder = recorder
        self._performers: Mapping[type[Action], Callable[[Any], None]] = {
            SetTimer: timers.set,
            CancelTimer: self._cancel_timer,
            Recall: self._recall,
            AnnounceStart: self._announce_start,
            AnnounceLoss: self._announce_loss,
            Store: self._store,
            Erase: self._erase,
            HoldPublishers: self._hold_publishers,
            ReleasePublishers: self._release_publishers,
            **dict.fromkeys((Detect, Contribute, Cease, RecordPlacement, Notify), self._serve_unit),
        }
        """Performers of all actions but `Send` and `Deliver`, to which most publications lead."""

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
            else:
                self._performers[type(action)](action)

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

    def _store(self, action: Store) -> None:
        self._storage.store(action.key, action.value)

    def _erase(self, action: Erase) -> None:
        self._storage.erase(action.key)

    def _hold_publishers(self, action: HoldPublishers) -> None:
        self._gate.close(action.reason)

    def _release_publishers(self, _action: ReleasePublishers) -> None:
        self._gate.open()

    def _cancel_timer(self, action: CancelTimer) -> None:
        self._timers.cancel(action.key)

    def _put_marked(self, action: Send) -> None:
        """Queues a message that has a label or goes ahead of others."""
        message, link = action.message, self._links[action.neighbour]
        if action.label:
            message = msgspec.structs.replace(message, label=action.label)
        if action.ahead:
            link.put_ahead(message)
        else:
            link.put(message)

    def _recall(self, action: Recall) -> None:
        messages = self._links[action.neighbour].recall()
        if messages:
            self.perform(self.router.returned(action.neighbour, messages))

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
            self._pass_on(self._composites.arrive(message, action.clients))

    def _announce_start(self, action: AnnounceStart) -> None:
        owner, id = action.client, action.id
        if owner.startswith(INTERNAL):
            composite = self._composites.part_started(owner)
            if composite is None:
                return
            owner, id = composite.client, composite.name
        client = self._clients.get(owner)
        name = None if client is None else client.names.get(id)
        if client is not None and name is not None:
            client.subscriptions[name].started = True
            self._notify_of_start(client, name)

    def _announce_loss(self, action: AnnounceLoss) -> None:
        owners = dict.fromkeys(map(self._composites.owner_of, action.clients))
        for client in [self._clients[owner] for owner in owners if owner in self._clients]:
            event = ClientEvent(Outcome.LOST, (client.id,), action.end, position=action.position)
            self._recorder.note(
                Event.LOST_RANGE,
                client=client.id,
                position=action.position,
                count=action.end - action.position.position,
            )
            self.send(client.session, event)

    def repeat_announcement(self, client: Client, name: str) -> None:
        """Notifies a client of a start again, because it has repeated a subscription that has started already."""
        if client.subscriptions[name].started:
            self._notify_of_start(client, name)

    def _notify_of_start(self, client: Client, name: str) -> None:
        self.send(client.session, ClientEvent(_STARTED, (client.id,), id=name))

    def _pass_on(self, detections: Iterable[ClientEvent | UnitDetection]) -> None:
        """Passes detections on: to clients, and to the router for units."""
        for detection in detections:
            if isinstance(detection, UnitDetection):
                self.perform(self.router.detected(detection.unit, detection.publications))
            else:
                self._notify(self._clients[detection.clients[0]], detection)

    def _serve_unit(self, action: Detect | Contribute | Cease | RecordPlacement | Notify) -> None:
        """Performs an action on a unit."""
        if isinstance(action, Detect):
            for part in self._composites.add_unit(action.unit, action.elsewhere, self.new_id):
                self.perform(self.router.subscribe(part.client, part.id, part.subscription))
        elif isinstance(action, Contribute):
            self._pass_on(self._composites.contribute(action.unit, action.publications))
        elif isinstance(action, Cease):
            for part in self._composites.remove_unit(action.unit):
                self.perform(self.router.unsubscribe(part.client, part.id))
        elif isinstance(action, RecordPlacement):
            self._recorder.note(
                action.event,
                kind=_COMPOSE_WORD,
                id=action.unit.name,
                client=action.unit.client,
                peer=action.peer,
                text=action.reason,
                placement=action.placement,
            )
        else:
            unit = action.unit
            client = self._clients.get(unit.client)
            if client is not None:
                self._notify(
                    client, ClientEvent(_NOTIFIED, (client.id,), id=unit.name, publications=action.publications)
                )

    def _notify(self, client: Client, event: ClientEvent) -> None:
        """Notifies a client of a detection."""
        self.delivered += 1
        self._recorder.note(
            _DELIVERED, kind=_DETECTION_WORD, id=event.id, client=client.id, hops=0, bytes=event.contents_size
        )
        self.send(client.session, event)
