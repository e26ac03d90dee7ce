"""Execution of a router's actions: messages to links, notifications to client sessions, timers, stable storage.

The messages of neighbours, which most actions answer, are handed to the router here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from broker_service.core.composites import INTERNAL, Composites, UnitDetection
from broker_service.core.contract import ContractError, objection
from broker_service.core.disturber import Disturber
from broker_service.core.far_messages import FarMessages
from broker_service.core.neighbours_account import NeighboursAccount
from broker_service.core.router_timers import RouterTimers
from broker_service.core.session import Client, PublisherGate, Session
from broker_service.core.storage import BoundedStorage
from broker_service.core.surroundings import Surroundings, lost_detection
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, ClientEvent, ClientId, Kind, Message, Outcome
from broker_service.routing.failures import FAILURES
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
    MalformedMessageError,
    NoRoomError,
    Notify,
    Recall,
    RecallsMessages,
    RecordPlacement,
    ReleasePublishers,
    Router,
    RoutesComposites,
    Send,
    SetTimer,
    Store,
    TimerKey,
    capabilities_of,
    capability_for,
)
from record.log import Event
from record.unread import UNREAD

# Looked up once, because every message needs them.
_DELIVERED: Final = Event.DELIVERED
_NOTIFIED: Final = Outcome.NOTIFIED
_STARTED: Final = Outcome.STARTED
_DETECTION_WORD: Final = Kind.DETECTION.word
_COMPOSE_WORD: Final = Kind.COMPOSE.word

_DECLARING: Final = frozenset({Kind.ADVERTISE, Kind.SUBSCRIBE, Kind.COMPOSE})
"""Kinds of messages that add to a router's tables, whatever the protocol."""


class ActionExecutor:
    """Hands neighbours' messages to one router, and carries out its actions on its broker's links, clients, timers,
    stable storage and publishers.

    Every call that reaches the router raises `BrokerDefectError` when the broker's own code fails.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        router: Router,
        links: Mapping[BrokerId, OverlayLink],
        storage: BoundedStorage,
        account: NeighboursAccount,
    ) -> None:
        self.router = router
        self.clients: dict[ClientId, Client] = {}
        """Clients that are attached to the broker."""
        self.gate = PublisherGate()
        self.timers = RouterTimers(surroundings.schedule, self._timer_ran_out)
        self.composites = Composites(surroundings)
        self.delivered = 0
        """Notifications put into sessions."""
        self.disturber = Disturber(surroundings, links, self._route)
        self._surroundings = surroundings
        self._clock = surroundings.clock
        self._stopwatch = surroundings.stopwatch
        self._account = account
        self._links = links
        self._far_messages = surroundings.far_messages
        self._departing = surroundings.far_messages.departing
        self._defects = surroundings.defects
        self._comparisons = surroundings.comparisons
        self._recorder = surroundings.recorder
        performers: Mapping[type[Action], Callable[[Any], None]] = {
            SetTimer: self.timers.set,
            CancelTimer: lambda action: self.timers.cancel(action.key),
            Recall: self._recall,
            AnnounceStart: self._announce_start,
            AnnounceLoss: self._announce_loss,
            Store: lambda action: storage.store(action.key, action.value),
            Erase: lambda action: storage.erase(action.key),
            HoldPublishers: lambda action: self.gate.close(action.reason),
            ReleasePublishers: lambda _: self.gate.open(),
            Detect: self._detect,
            Contribute: self._contribute,
            Cease: self._cease,
            RecordPlacement: self._record_placement,
            Notify: self._notify_of_unit,
        }
        declared = {None, *capabilities_of(router)}
        self._performers = {
            action: performer for action, performer in performers.items() if capability_for(action) in declared
        }
        """Performers of the actions that the router may return, but for `Send` and `Deliver`, which most are."""

    def receive(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None = None) -> None:
        """Handles messages from a link, in order, but for what a disturbance makes of them.

        `arrived` is the time at which they came, in nanoseconds; None: now.
        """
        self._links[neighbour].received += len(messages)
        if self.disturber.active:
            messages = self.disturber.admitted(neighbour, messages, arrived)
        self._route(neighbour, messages, arrived)

    def _route(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None) -> None:
        """Has the router handle messages of a neighbour. A malformed message is dropped and counted.

        Each is recorded with the times at which it arrived and had its turn, and with the time that the router took.
        """
        clock, stopwatch, comparisons = self._clock, self._stopwatch, self._comparisons
        far_messages = self._far_messages
        arriving = far_messages.arriving
        for message in messages:
            came, began = clock(), stopwatch()
            try:
                if message.hops > arriving:
                    message = far_messages.arrived(message)  # noqa: PLW2901 - its way is not for the router
                if message.kind in _DECLARING:
                    self._account.require_room(len(message.body) + len(message.header))
                actions = self.router.receive(neighbour, message)
                took = stopwatch() - began - comparisons.decoding
                self._recorder.received(message, came, took, neighbour, arrived=arrived)
                self.perform(actions)
            except MalformedMessageError as error:
                comparisons.discard()
                self._recorder.received(message, came, None, neighbour, arrived=arrived)
                reason = str(error) if isinstance(error, NoRoomError) else f"malformed: {error}"
                self._surroundings.report_dropped(message, reason)
            except FAILURES as error:
                occasion = f"{message.kind.word} {message.id!r} from {neighbour}"
                raise self._defects.report(error, occasion, "receive") from error
        far_messages.handled = None

    def perform(self, actions: Actions) -> None:
        """Performs actions, and logs the router's comparisons, which is not part of its work."""
        if self._comparisons.pending:
            self._comparisons.log()
        try:
            for action in actions:
                if isinstance(action, Send):
                    message, link = action.message, self._links[action.neighbour]
                    if message.header.__class__ is not bytes or message.hops > self._departing:
                        message = _checked(message, action.neighbour, self._far_messages)
                    if action.label:
                        message = msgspec.structs.replace(message, label=action.label)
                    if action.ahead:
                        link.put_ahead(message)
                    else:
                        link.put(message)
                elif isinstance(action, Deliver):
                    self._deliver(action)
                else:
                    performer = self._performers.get(type(action))
                    if performer is None:
                        raise TypeError(_undeclared(action))
                    performer(action)
        except (TypeError, KeyError, AttributeError) as error:
            if reason := objection(actions, error, self._links):
                raise ContractError(reason) from error
            raise

    def send(self, session: Session, event: ClientEvent) -> None:
        """Queues an event for a session; logs those that the session has no room for."""
        for dropped in session.put(event):
            self._report_unread(dropped)

    def _report_unread(self, event: ClientEvent) -> None:
        reason = UNREAD
        if event.publications:
            message = Message(Kind.DETECTION, event.publications[-1].id)
            reason = lost_detection(reason, event.id)
        else:
            message = Message(Kind.PUBLISH if event.outcome is _NOTIFIED else Kind.CONTROL, event.id)
        for client in event.clients:
            self._recorder.message(Event.DROPPED, message, client=client, text=reason, count=1)

    def _deliver(self, action: Deliver) -> None:
        """Queues one event for each session, however many of its clients are notified."""
        message, position = action.message, action.position
        by_session: dict[Session, list[ClientId]] = {}
        others = False
        for name in action.clients:
            client = self.clients.get(name)
            if client is None:
                others = True
            elif client.session in by_session:
                by_session[client.session].append(name)
            else:
                by_session[client.session] = [name]
        for session, present in by_session.items():
            names = tuple(present)
            event = ClientEvent(_NOTIFIED, names, 0, message.id, message.body, message.hops, position=position)
            self.delivered += len(names)
            size = len(message.body) + len(message.header)
            self._recorder.notifications(
                _DELIVERED, names, id=message.id, hops=message.hops, bytes=size, position=position
            )
            for dropped in session.put(event):
                self._report_unread(dropped)
        if others:
            self._pass_on(self.composites.arrive(message, action.clients))

    def _recall(self, action: Recall) -> None:
        messages = list(map(self._far_messages.returned, self._links[action.neighbour].recall()))
        if messages:
            self.perform(cast(RecallsMessages, self.router).returned(action.neighbour, messages))

    def _timer_ran_out(self, key: TimerKey) -> None:
        """A timer that the router set has run out."""
        try:
            self.perform(self.router.timer(key))
        except FAILURES as error:
            raise self._defects.report(error, f"the timer {key!r}", "timer") from error

    def _announce_start(self, action: AnnounceStart) -> None:
        owner, id = action.client, action.id
        if owner.startswith(INTERNAL):
            composite = self.composites.part_started(owner)
            if composite is None:
                return
            owner, id = composite.client, composite.name
        client = self.clients.get(owner)
        name = None if client is None else client.names.get(id)
        if client is not None and name is not None:
            client.subscriptions[name].started = True
            self.notify_of_start(client, name)

    def _announce_loss(self, action: AnnounceLoss) -> None:
        owners = dict.fromkeys(map(self.composites.owner_of, action.clients))
        for client in [self.clients[owner] for owner in owners if owner in self.clients]:
            event = ClientEvent(Outcome.LOST, (client.id,), action.end, position=action.position)
            self._recorder.note(
                Event.LOST_RANGE,
                client=client.id,
                position=action.position,
                count=action.end - action.position.position,
            )
            self.send(client.session, event)

    def notify_of_start(self, client: Client, name: str) -> None:
        """Notifies a client that its subscription has started."""
        self.send(client.session, ClientEvent(_STARTED, (client.id,), id=name))

    def _pass_on(self, detections: Iterable[ClientEvent | UnitDetection]) -> None:
        """Passes detections on: to clients, and to the router for units."""
        for detection in detections:
            if isinstance(detection, UnitDetection):
                self.perform(cast(RoutesComposites, self.router).detected(detection.unit, detection.publications))
            else:
                self._notify(self.clients[detection.clients[0]], detection)

    # Units

    def _detect(self, action: Detect) -> None:
        for part in self.composites.add_unit(action.unit, action.elsewhere):
            self.perform(self.router.subscribe(part.client, part.id, part.subscription))

    def _contribute(self, action: Contribute) -> None:
        self._pass_on(self.composites.contribute(action.unit, action.publications))

    def _cease(self, action: Cease) -> None:
        for part in self.composites.remove_unit(action.unit):
            self.perform(self.router.unsubscribe(part.client, part.id))

    def _record_placement(self, action: RecordPlacement) -> None:
        unit = action.unit
        self._recorder.note(
            action.event,
            kind=_COMPOSE_WORD,
            id=unit.name,
            client=unit.client,
            peer=action.peer,
            text=action.reason,
            placement=action.placement,
        )

    def _notify_of_unit(self, action: Notify) -> None:
        client = self.clients.get(action.unit.client)
        if client is not None:
            event = ClientEvent(_NOTIFIED, (client.id,), id=action.unit.name, publications=action.publications)
            self._notify(client, event)

    def _notify(self, client: Client, event: ClientEvent) -> None:
        """Notifies a client of a detection."""
        self.delivered += 1
        self._recorder.note(
            _DELIVERED, kind=_DETECTION_WORD, id=event.id, client=client.id, hops=0, bytes=event.contents_size
        )
        self.send(client.session, event)


def _checked(message: Message, neighbour: BrokerId, far_messages: FarMessages) -> Message:
    """A message as it leaves. Raises `ContractError` for a wrong header, and for a message that goes in circles."""
    if message.header.__class__ is not bytes:
        raise ContractError
    return far_messages.leaving(message, neighbour)


def _undeclared(action: Action) -> str:
    """The reason for which a router may not return an action of a capability that it has not declared."""
    name, capability = type(action).__name__, capability_for(type(action))
    return f"{name} belongs to the capability {capability!r}, and the router does not inherit from its class"
