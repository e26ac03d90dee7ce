"""The clients of a simulated run: the nodes that act for them, and their operations in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter

from broker_service.tracing.trace import Recorder, Trace
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.driver_operations import ReadyOperation
from emulation.drivers.status import ClientCounts
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, drivers
from emulation.run.hands import SUBSCRIBING
from emulation.simulation.overlay import SimulatedOverlay
from emulation.simulation.sessions import SimulatedSession
from emulation.simulation.sites import Node, SimulatedSites
from record.log import Event
from record.promises import Promises
from scenario.workload.operations import PlannedOperation
from scenario.workload.workload import Workload
from topology.sites import Site, site_of_each_client


class ClientNodes:
    """Publishers and subscribers, each a node with a session to every broker that one of its clients is beside, and
    one for each of its clients at a site."""

    def __init__(
        self,
        workload: Workload,
        sites: Iterable[Site],
        overlay: SimulatedOverlay,
        trace_of: Callable[[str], Trace],
        promises: Promises,
    ) -> None:
        """`promises` are those of the routing."""
        self.counts = ClientCounts()
        self._overlay = overlay
        self._trace_of = trace_of
        self._promises = promises
        self._homes = workload.clients
        self._everywhere = workload.scenario.timeline.held is not None
        self.sites = SimulatedSites(sites, overlay.sessions)
        """The sites of the clients."""
        self._site_of = site_of_each_client(self.sites.sites)
        self._node_of = drivers(workload)
        self._opened: dict[str, Node] = {}

    @property
    def nodes(self) -> list[str]:
        """The nodes that were opened."""
        return list(self._opened)

    def open(self) -> None:
        """The nodes start and open their sessions, once the overlay has started."""
        ends: dict[str, dict[SessionEnd, None]] = {}
        if self._everywhere:
            brokers = sorted(broker.id for broker in self._overlay.overlay.brokers)
            ends = {node: dict.fromkeys(map(SessionEnd, brokers)) for node in (PUBLISHERS, SUBSCRIBERS)}
        for client, broker in sorted(self._homes.items(), key=itemgetter(1)):
            end = SessionEnd(broker, client if client in self._site_of else None)
            ends.setdefault(self._node_of[client], {})[end] = None
        for node in sorted(ends):
            self._open(node, ends[node])

    def admit(self, operation: PlannedOperation) -> None:
        """Registers the client of an operation done by hand, unless the workload has that client."""
        node = SUBSCRIBERS if operation.operation in SUBSCRIBING else PUBLISHERS
        self._node_of.setdefault(operation.client, node)

    def issue(self, operation: ReadyOperation, intended: int) -> None:
        """Issues a client's operation, which is due at the time `intended`."""
        self._opened[self._node_of[operation.client]].clients.issue(operation, intended)

    def close(self, node: str) -> None:
        """Ends the sessions of a node, where there is one."""
        if node in self._opened:
            for session in self._opened[node].sessions.values():
                session.close()

    def stop(self) -> None:
        """The nodes end in order."""
        for name, node in self._opened.items():
            node.recorder.note(Event.STOPPED, count=0, records=self._trace_of(name).written + 1)

    def _open(self, name: str, ends: Iterable[SessionEnd]) -> None:
        recorder = Recorder(self._trace_of(name), self._overlay.events.clock)
        recorder.note(Event.STARTED, count=1)
        sessions: dict[str, SimulatedSession] = {}
        clients = Clients(
            sessions, recorder, self.counts, keeps_accepted=self._promises.keeps_accepted, at_sites=self._site_of
        )
        node = self._opened[name] = Node(clients, recorder, sessions)
        for end in ends:
            site = None if end.client is None else self._site_of[end.client]
            self.sites.hold(node, end, node.open(end, partial(self._overlay.sessions.open, site=site)))
