"""The broker: clients, router and links, without I/O.

A publication passes through these calls: `ClientSessions.handle` takes it from a client's session, checks it against
that client's advertisements and asks the router; `ActionExecutor.perform` puts it into the output queues of links
(`OverlayLink.take` hands it to the shell) or into client sessions (`Session.take`); `Broker.receive` takes it from a
neighbour. The gRPC server drives a broker in real time, the simulator drives the same object in virtual time.

The parts are made one after another, each from those before it: surroundings, links, router, the executor of its
actions, and the sessions of clients.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from broker_service.config import BrokerConfig, Disturbance, LinkConfig
from broker_service.core.actions import ActionExecutor
from broker_service.core.client_sessions import ClientSessions
from broker_service.core.contract import ContractError
from broker_service.core.disturber import Disturber
from broker_service.core.endless_calls import EndlessCallError
from broker_service.core.neighbours_account import NeighboursAccount
from broker_service.core.router_timers import Schedule
from broker_service.core.storage import BoundedStorage
from broker_service.core.surroundings import Surroundings
from broker_service.language import Publication
from broker_service.language.wire import decode_publication
from broker_service.links.on_demand import LinksOnDemand, MeshPlace, MeshStatus
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.sending import Turns
from broker_service.messages import (
    BrokerId,
    Kind,
    Message,
    Welcome,
)
from broker_service.routing import protocol_named, read_options
from broker_service.routing.interface import (
    Buffer,
    CompositeSurroundings,
    FollowsNeighbours,
    KeepsStreams,
    LinkStatus,
    MalformedMessageError,
    Matcher,
    NoRoomError,
    Router,
    RouterContext,
    StoredValues,
)
from broker_service.service.service_queue import ServiceTotals, no_service
from broker_service.tracing.trace import Trace
from record.errors import BrokerDefectError
from record.log import Event
from record.service_time import SendingOrder, ServiceTime
from record.time_units import SECOND

MATCHING_INDEX = "matching_index"
"""Name under which `Broker.tables` shows the number of subscriptions in its matching index."""

_DECLARING: Final = frozenset({Kind.ADVERTISE, Kind.SUBSCRIBE, Kind.COMPOSE})
"""Kinds of messages that add to a router's tables, whatever the protocol."""


class Broker:
    """One broker of the overlay.

    `schedule(timer, call)` has the shell make a call when a timer of the router has run out. `stored` are the values in
    stable storage, with those of former incarnations. `stopwatch` measures the router's work, in nanoseconds: it is the
    clock, unless that is virtual and the work on this host is wanted. `decode` reads the content of publications, as
    `decode_publication` does; brokers of one process may share one that caches. `mesh` is the broker's place in a full
    mesh whose links are made on demand; all links are those of `config` when it is None. `service` reads the totals of
    the shell's service, for the router.

    Every call that reaches the router raises `BrokerDefectError` when the broker's own code fails; the broker must not
    be used afterwards. `on_defect` is called first, because an event loop may swallow what its callbacks raise.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Callable[[], int],
        trace: Trace,
        schedule: Schedule,
        *,
        stored: MutableMapping[str, bytes] | None = None,
        stopwatch: Callable[[], int] | None = None,
        decode: Callable[[bytes], Publication] = decode_publication,
        on_defect: Callable[[BrokerDefectError], None] | None = None,
        mesh: MeshPlace | None = None,
        service: Callable[[], ServiceTotals] = no_service,
    ) -> None:
        self.id: BrokerId = config.id
        self.incarnation = config.incarnation
        self.protocol = config.protocol
        self._surroundings = surroundings = Surroundings(
            config, clock, trace, schedule, stopwatch=stopwatch, decode=decode, on_defect=on_defect
        )
        self._clock = clock
        self._comparisons = surroundings.comparisons
        self._recorder = surroundings.recorder
        self._defects = surroundings.defects
        self._started_at = clock()
        self._turns = Turns() if config.sending is SendingOrder.IN_TURN else None
        self.links: dict[BrokerId, OverlayLink] = self._make_links(config, mesh)
        """All links; in a mesh those that were used."""
        self._link_status: Mapping[BrokerId, LinkStatus] = self.links if mesh is None else MeshStatus(mesh, self.links)
        self._options = read_options(config.protocol, config.options)
        self._storage = BoundedStorage({} if stored is None else stored, config.limits.stored_bytes)
        self._matchers: list[Matcher[Any]] = []
        self._disturber = Disturber(surroundings, self.links, self._route)
        self._account = NeighboursAccount(config.limits.declared_bytes, self._declared_by_neighbours)
        self._router = self._make_router(config, service)
        self._actions = ActionExecutor(surroundings, self._router, self.links, self._storage)
        self.sessions = ClientSessions(surroundings, self._actions)
        """Sessions of the broker's clients."""
        self.gate = self._actions.gate

    def _make_links(self, config: BrokerConfig, mesh: MeshPlace | None) -> dict[BrokerId, OverlayLink]:
        configured = {link.neighbour: self._make_link(link) for link in config.links}
        return configured if mesh is None else LinksOnDemand(configured, mesh, self._make_link)

    def _make_router(self, config: BrokerConfig, service: Callable[[], ServiceTotals]) -> Router:
        make = protocol_named(config.protocol).router
        self._defects.blame(make)
        with self._defects.handling("the construction of its router", call="__init__"):
            router = make(self._router_context(config, service))
            if not isinstance(router, Router):
                raise ContractError(f"it made {router!r}, and a `Router` is expected")
        return router

    def _declared_by_neighbours(self) -> Iterable[int]:
        return self._router.declared()

    def _router_context(self, config: BrokerConfig, service: Callable[[], ServiceTotals]) -> RouterContext[Any]:
        return RouterContext(
            broker=config.id,
            incarnation=config.incarnation,
            attributes=config.attributes,
            links=self._link_status,
            options=self._options,
            started_at=self._started_at,
            now=self._seconds_since_start,
            prepared=config.prepared,
            random=random.Random(f"{config.seed}:{config.id}:{config.incarnation}"),
            matcher=self._make_matcher,
            report_dropped=self._surroundings.report_dropped,
            latest_incarnation=config.latest_incarnation,
            require_room=self._account.require_room,
            storage=StoredValues(self._storage.values, config.limits.stored_bytes),
            composites=CompositeSurroundings(config.limits.detection_lateness, service),
        )

    @property
    def awaited_timers(self) -> int:
        """Timers that count as work: those of the router, and those of messages that are held back."""
        return self._actions.timers.awaited + self._disturber.held

    def cancel_timers(self) -> None:
        """Ends all timers and closes the router, because the broker ends."""
        self._actions.timers.cancel_all()
        self._disturber.cancel_all()
        self._actions.composites.cancel_timer()
        self._router.close()

    @property
    def processes(self) -> Sequence[int]:
        """Processes of the router, besides this one."""
        return self._router.processes()

    @property
    def dropped(self) -> int:
        """Messages that ended here; those that links and sessions dropped are not counted."""
        return self._surroundings.dropped

    @property
    def clients(self) -> int:
        return len(self._actions.clients)

    @property
    def welcome(self) -> Welcome:
        """The greeting of a client's stream."""
        return Welcome(
            self.incarnation, self._options.recognises_repeats, bool(self._options.promises.announces_starts)
        )

    @property
    def published(self) -> int:
        """Publications of clients that the router has accepted."""
        return self.sessions.published

    @property
    def rejected(self) -> int:
        """Operations of clients that could not be carried out."""
        return self.sessions.rejected

    @property
    def delivered(self) -> int:
        """Notifications that were put into sessions of clients."""
        return self._actions.delivered

    def tables(self) -> Mapping[str, object]:
        """The router's tables, and the sizes of matching index and detector that are not 0, JSON-ready.

        The index is the one that the next publication would be matched against.
        """
        with self._defects.handling("a request for its tables"):
            self._router.index()
            sizes = {MATCHING_INDEX: sum(map(len, self._matchers)), **self._actions.composites.sizes}
            return {**self._router.tables(), **{name: size for name, size in sizes.items() if size}}

    def buffers(self) -> Sequence[Buffer]:
        """The router's buffers."""
        with self._defects.handling("a look at its buffers"):
            return self._router.buffers() if isinstance(self._router, KeepsStreams) else ()

    # Neighbours

    def receive(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None = None) -> None:
        """Handles messages from a link, in order, but for what a disturbance makes of them.

        `arrived` is the time at which they came, in nanoseconds; None: now.
        """
        self.links[neighbour].received += len(messages)
        if self._disturber.active:
            messages = self._disturber.admitted(neighbour, messages, arrived)
        self._route(neighbour, messages, arrived)

    def _route(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None) -> None:
        """Has the router handle messages of a neighbour. A malformed message is dropped and counted.

        Each is recorded with the times at which it arrived and had its turn, and with the time that the router took.
        """
        clock, stopwatch, comparisons = self._clock, self._surroundings.stopwatch, self._comparisons
        far_messages = self._surroundings.far_messages
        arriving = far_messages.arriving
        for message in messages:
            came, began = clock(), stopwatch()
            try:
                if message.hops > arriving:
                    message = far_messages.arrived(message)  # noqa: PLW2901 - its way is not for the router
                if message.kind in _DECLARING:
                    self._account.require_room(len(message.body) + len(message.header))
                actions = self._router.receive(neighbour, message)
                took = stopwatch() - began - comparisons.decoding
                self._recorder.received(message, came, took, neighbour, arrived=arrived)
                self._actions.perform(actions)
            except MalformedMessageError as error:
                comparisons.discard()
                self._recorder.received(message, came, None, neighbour, arrived=arrived)
                reason = str(error) if isinstance(error, NoRoomError) else f"malformed: {error}"
                self._surroundings.report_dropped(message, reason)
            except (Exception, EndlessCallError) as error:
                occasion = f"{message.kind.word} {message.id!r} from {neighbour}"
                raise self._defects.report(error, occasion, "receive") from error
        far_messages.handled = None

    def disturb(self, neighbour: BrokerId, disturbance: Disturbance) -> None:
        """Disturbs messages that come from a neighbour from now on; an empty disturbance ends that.

        Raises `ValueError` for a broker that is no neighbour.
        """
        self.require_neighbour(neighbour)
        self._disturber.set(neighbour, disturbance)

    def change_send_time(self, neighbour: BrokerId, send_time: ServiceTime) -> None:
        """Gives the link to a neighbour another send time, from the next message on.

        Raises `ValueError` for a broker that is no neighbour.
        """
        self.require_neighbour(neighbour)
        link = self.links[neighbour]
        link.change_send_times(self._surroundings.config.send_times(neighbour, link.appearance, send_time))

    def link_up(self, neighbour: BrokerId, incarnation: int, handled: int) -> None:
        """The stream to a neighbour is open; it has handled that many messages of this broker's incarnation before.

        Raises `ValueError` when that number is impossible; the link stays down then. The router is not notified of a
        link that has rested: for it, the link was up all the time.
        """
        link = self.links[neighbour]
        has_rested = link.up and link.neighbour_incarnation == incarnation
        link.connect(incarnation, handled)
        if has_rested:
            return
        self._record_link(Event.LINK_UP, neighbour)
        with self._defects.handling("the link to {} coming up", neighbour, "link_up"):
            self._actions.perform(self._router.link_up(neighbour, incarnation))

    def link_down(self, neighbour: BrokerId) -> None:
        """The stream to a neighbour broke, or the neighbour is silent."""
        self.links[neighbour].disconnect()
        self._record_link(Event.LINK_DOWN, neighbour)
        with self._defects.handling("the link to {} going down", neighbour, "link_down"):
            self._actions.perform(self._router.link_down(neighbour))

    @property
    def neighbours_change(self) -> bool:
        """True when the routing protocol bears other neighbours."""
        return self._options.neighbours_change

    def require_changing_neighbours(self) -> None:
        """Raises `ValueError` unless the routing protocol bears other neighbours."""
        if not self.neighbours_change:
            raise ValueError(f"neighbours of a broker that routes by {self.protocol} do not change while it runs")

    def require_neighbour(self, broker: BrokerId) -> None:
        """Raises `ValueError` unless this broker is a neighbour."""
        if broker not in self._link_status:
            raise ValueError(f"{self.id} and {broker} are not linked")

    def add_link(self, config: LinkConfig) -> OverlayLink:
        """A broker has become a neighbour. Its link is down until the shell opens a stream.

        Raises `ValueError` for a broker that is a neighbour already, and where the routing protocol does not bear it.
        """
        self.require_changing_neighbours()
        if config.neighbour in self.links or config.neighbour == self.id:
            raise ValueError(f"{self.id} and {config.neighbour} are linked already")
        link = self.links[config.neighbour] = self._make_link(config)
        self._recorder.note(Event.LINK_ADDED, peer=link.neighbour, count=link.appearance)
        if isinstance(self._router, FollowsNeighbours):
            with self._defects.handling("the appearance of the neighbour {}", link.neighbour, "neighbour_added"):
                self._actions.perform(self._router.neighbour_added(link.neighbour))
        return link

    def remove_link(self, neighbour: BrokerId) -> None:
        """Makes a broker a neighbour no more, and drops what its link holds; the shell has ended its streams before.

        Raises `ValueError` for a broker that is no neighbour, and where the routing protocol does not bear it.
        """
        self.require_changing_neighbours()
        self.require_neighbour(neighbour)
        link = self.links.pop(neighbour)
        link.vanish()
        self._disturber.set(neighbour, Disturbance())
        self._recorder.note(Event.LINK_REMOVED, peer=neighbour, count=link.appearance)
        if isinstance(self._router, FollowsNeighbours):
            with self._defects.handling("the disappearance of the neighbour {}", neighbour, "neighbour_removed"):
                self._actions.perform(self._router.neighbour_removed(neighbour))

    # Storage and time

    def commit(self) -> None:
        """Makes last what the router has stored. A shell calls it before anything leaves the broker."""
        with self._defects.handling("the writing of its stable storage"):
            self._storage.commit()

    def _make_link(self, config: LinkConfig) -> OverlayLink:
        return OverlayLink(
            config.neighbour,
            self._surroundings.limits,
            self._clock,
            self._recorder,
            attributes=config.attributes,
            appearance=config.appearance,
            send_times=self._surroundings.config.send_times(config.neighbour, config.appearance, config.send_time),
            turns=self._turns,
        )

    def _seconds_since_start(self) -> float:
        return (self._clock() - self._started_at) / SECOND

    def _make_matcher(self) -> Matcher[Any]:
        matcher: Matcher[Any] = Matcher(self._comparisons)
        self._matchers.append(matcher)
        return matcher

    def _record_link(self, event: Event, neighbour: BrokerId) -> None:
        self._recorder.note(event, peer=neighbour, count=self.links[neighbour].neighbour_incarnation)
