"""The broker: clients, router and links, without I/O.

A publication passes through these calls: `ClientSessions.handle` takes it from a client's session, checks it against
that client's advertisements and asks the router; `ActionExecutor.perform` puts it into the output queues of links
(`OverlayLink.take` hands it to the shell) or into client sessions (`Session.take`); `ActionExecutor.receive` takes it
from a neighbour. The gRPC server drives a broker in real time, the simulator drives the same object in virtual time.

The parts are made one after another, each from those before it: surroundings, links, router, the executor of its
actions, the sessions of clients, and the neighbours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from broker_service.config import BrokerConfig
from broker_service.core.actions import ActionExecutor
from broker_service.core.client_sessions import ClientSessions
from broker_service.core.contract import ContractError
from broker_service.core.neighbours import Neighbours, link_maker
from broker_service.core.neighbours_account import NeighboursAccount
from broker_service.core.router_timers import Schedule
from broker_service.core.storage import BoundedStorage
from broker_service.core.surroundings import Surroundings
from broker_service.language import Publication
from broker_service.language.content import decode_publication
from broker_service.links.on_demand import LinksOnDemand, MeshPlace, MeshStatus
from broker_service.messages import (
    BrokerId,
    Welcome,
)
from broker_service.routing import protocol_named, read_options
from broker_service.routing.interface import (
    Buffer,
    CompositeSurroundings,
    KeepsStreams,
    LinkStatus,
    Matcher,
    Router,
    RouterContext,
    StoredValues,
)
from broker_service.service import ServiceTotals, no_service
from broker_service.tracing.trace import Trace
from record.errors import BrokerDefectError

MATCHING_INDEX = "matching_index"
"""Name under which `Broker.tables` shows the number of subscriptions in its matching index."""


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
        self._defects = surroundings.defects
        make_link = link_maker(surroundings)
        links = {link.neighbour: make_link(link) for link in config.links}
        self.links = links if mesh is None else LinksOnDemand(links, mesh, make_link)
        """All links; in a mesh those that were used."""
        self._link_status: Mapping[BrokerId, LinkStatus] = self.links if mesh is None else MeshStatus(mesh, self.links)
        self._options = options = read_options(config.protocol, config.options)
        self._storage = BoundedStorage({} if stored is None else stored, config.limits.stored_bytes)
        self._matchers: list[Matcher[Any]] = []
        self._account = NeighboursAccount(config.limits.declared_bytes, lambda: self._router.declared())  # noqa: PLW0108 - made below
        self._router: Router = self._make_router(config, service)
        self._actions = ActionExecutor(surroundings, self._router, self.links, self._storage, self._account)
        self.sessions = ClientSessions(surroundings, self._actions)
        """Sessions of the broker's clients."""
        linked, change = self._link_status, options.neighbours_change
        self.neighbours = Neighbours(surroundings, self._actions, self.links, make_link, linked=linked, change=change)
        """Neighbours of the broker, and what comes from them."""
        self.gate = self._actions.gate

    def _make_router(self, config: BrokerConfig, service: Callable[[], ServiceTotals]) -> Router:
        make = protocol_named(config.protocol).router
        self._defects.blame(make)
        with self._defects.handling("the construction of its router", call="__init__"):
            router = make(self._router_context(config, service))
            if not isinstance(router, Router):
                raise ContractError(f"it made {router!r}, and a `Router` is expected")
        return router

    def _router_context(self, config: BrokerConfig, service: Callable[[], ServiceTotals]) -> RouterContext[Any]:
        return RouterContext(
            broker=config.id,
            incarnation=config.incarnation,
            attributes=config.attributes,
            links=self._link_status,
            options=self._options,
            started_at=self._surroundings.started_at,
            now=self._surroundings.seconds_since_start,
            prepared=config.prepared,
            random=random.Random(f"{config.seed}:{config.id}:{config.incarnation}"),
            matcher=self._make_matcher,
            report_dropped=self._surroundings.report_dropped,
            latest_incarnation=config.latest_incarnation,
            require_room=self._account.require_room,
            storage=StoredValues(self._storage.values, config.limits.stored_bytes),
            composites=CompositeSurroundings(
                config.limits.detection_lateness, service, self._surroundings.report_lost_detections
            ),
        )

    @property
    def flushed(self) -> bool:
        """True when no message waits or is in flight on a link that is up."""
        return all(link.idle or not link.up for link in self.links.values())

    @property
    def awaited_timers(self) -> int:
        """Timers that count as work: those of the router, and those of messages that are held back."""
        return self._actions.timers.awaited + self.neighbours.held

    def cancel_timers(self) -> None:
        """Ends all timers and closes the router, because the broker ends."""
        self._actions.timers.cancel_all()
        self.neighbours.cancel_timers()
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

    def commit(self) -> None:
        """Makes last what the router has stored. A shell calls it before anything leaves the broker."""
        if self._storage.changed:
            with self._defects.handling("the writing of its stable storage"):
                self._storage.commit()

    def _make_matcher(self) -> Matcher[Any]:
        matcher: Matcher[Any] = Matcher(self._surroundings.comparisons)
        self._matchers.append(matcher)
        return matcher
