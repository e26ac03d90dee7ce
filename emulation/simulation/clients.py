"""The clients of a simulated run: the nodes that act for them, and their operations in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import itemgetter

from broker_service.tracing.trace import Recorder, Trace
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.driver_operations import ReadyOperation
from emulation.drivers.ended_clients import EndedClients
from emulation.drivers.status import ClientCounts
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, drivers
from emulation.run.hands import SUBSCRIBING
from emulation.simulation.overlay import SimulatedOverlay
from emulation.simulation.sessions import SimulatedSession
from emulation.simulation.site_session import SiteSession
from record.log import Event
from record.promises import Promises
from scenario.workload.operations import PlannedOperation
from scenario.workload.workload import Workload
from topology.sites import ClientHost, Site, site_of_each_client


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
        self.sites = tuple(sites)
        self._site_of = site_of_each_client(self.sites)
        self._ended, self._paused = EndedClients(), EndedClients()
        self._session_of: dict[str, SiteSession] = {}
        """Sessions of clients at sites."""
        self._node_of = drivers(workload)
        self._recorders: dict[str, Recorder] = {}
        self._clients: dict[str, Clients] = {}
        self._sessions: dict[str, list[SimulatedSession]] = {}

    @property
    def nodes(self) -> list[str]:
        """The nodes that were opened."""
        return list(self._recorders)

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
        """Takes note of a client that the workload may not know, by what it does."""
        node = SUBSCRIBERS if operation.operation in SUBSCRIBING else PUBLISHERS
        self._node_of.setdefault(operation.client, node)

    def issue(self, operation: ReadyOperation, intended: int) -> None:
        """Issues a client's operation, which is due at the time `intended`."""
        self._clients[self._node_of[operation.client]].issue(operation, intended)

    def close(self, node: str) -> None:
        """Ends the sessions of a node, where there is one."""
        for session in self._sessions.pop(node, ()):
            session.close()

    # Hosts that fail

    def end(self, host: ClientHost) -> None:
        for client in self._ended.end(host):
            if client in self._session_of:
                self._clients[self._node_of[client]].away.add(client)
                self._overlay.sessions.crash(self._session_of[client])

    def come_back(self, host: ClientHost) -> None:
        for client in self._ended.come_back(host):
            if client in self._session_of:
                self._clients[self._node_of[client]].away.discard(client)
                self._overlay.sessions.come_back(self._session_of[client])

    def pause(self, host: ClientHost) -> None:
        for client in self._paused.end(host):
            if client in self._session_of:
                self._session_of[client].freeze()

    def resume(self, host: ClientHost) -> None:
        for client in self._paused.come_back(host):
            if client in self._session_of:
                self._session_of[client].thaw()

    def stop(self) -> None:
        """The nodes end in order."""
        for node, recorder in self._recorders.items():
            recorder.note(Event.STOPPED, count=0, records=self._trace_of(node).written + 1)

    def _open(self, node: str, ends: Iterable[SessionEnd]) -> None:
        recorder = self._recorders[node] = Recorder(self._trace_of(node), self._overlay.events.clock)
        recorder.note(Event.STARTED, count=1)
        sessions: dict[str, SimulatedSession] = {}
        clients = self._clients[node] = Clients(
            sessions, recorder, self.counts, keeps_accepted=self._promises.keeps_accepted, at_sites=self._site_of
        )
        for end in ends:
            sessions[end.key] = session = self._overlay.sessions.open(
                end.broker,
                clients.receiver(end, partial(_came, sessions, end.key)),
                on_acknowledged=clients.acknowledgement_log(end.broker),
                site=None if end.client is None else self._site_of[end.client],
            )
            session.on_up = partial(recorder.note, Event.LINK_UP, peer=end.broker, client=end.client)
            session.on_down = partial(recorder.note, Event.LINK_DOWN, peer=end.broker, client=end.client)
            if session.up:
                session.on_up()
            self._sessions.setdefault(node, []).append(session)
            if end.client is not None and isinstance(session, SiteSession):
                self._session_of[end.client] = session


def _came(sessions: Mapping[str, SimulatedSession], key: str) -> int | None:
    """The time at which the latest events of a session came over its access link, if it has one."""
    session = sessions[key]
    return session.came if isinstance(session, SiteSession) else None
