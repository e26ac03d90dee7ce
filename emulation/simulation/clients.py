"""The clients of a simulated run: the nodes that act for them, and their operations in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker_service.tracing.trace import Recorder, Trace
from emulation.drivers.clients import Clients
from emulation.drivers.driver_operations import ReadyOperation
from emulation.drivers.status import ClientCounts
from emulation.planning.plan import drivers
from emulation.simulation.overlay import SimulatedOverlay
from emulation.simulation.sessions import SimulatedSession
from record.log import Event
from record.promises import Promises
from scenario.workload.workload import Workload


class ClientNodes:
    """Publishers and subscribers, each a node with a session to every broker that one of its clients is at."""

    def __init__(
        self, workload: Workload, overlay: SimulatedOverlay, trace_of: Callable[[str], Trace], promises: Promises
    ) -> None:
        """`promises` are those of the routing."""
        self.counts = ClientCounts()
        self._overlay = overlay
        self._trace_of = trace_of
        self._promises = promises
        self._homes = workload.clients
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
        brokers: dict[str, set[str]] = {}
        for client, broker in self._homes.items():
            brokers.setdefault(self._node_of[client], set()).add(broker)
        for node in sorted(brokers):
            self._open(node, sorted(brokers[node]))

    def issue(self, operation: ReadyOperation, intended: int) -> None:
        """Issues a client's operation, which is due at the time `intended`."""
        self._clients[self._node_of[operation.client]].issue(operation, intended)

    def close(self, node: str) -> None:
        """Ends the sessions of a node, where there is one."""
        for session in self._sessions.pop(node, ()):
            session.close()

    def stop(self) -> None:
        """The nodes end in order."""
        for node, recorder in self._recorders.items():
            recorder.note(Event.STOPPED, count=0, records=self._trace_of(node).written + 1)

    def _open(self, node: str, brokers: list[str]) -> None:
        recorder = self._recorders[node] = Recorder(self._trace_of(node), self._overlay.events.clock)
        recorder.note(Event.STARTED, count=1)
        sessions: dict[str, SimulatedSession] = {}
        clients = self._clients[node] = Clients(
            sessions, recorder, self.counts, keeps_accepted=self._promises.keeps_accepted
        )
        for broker in brokers:
            sessions[broker] = session = self._overlay.sessions.open(
                broker, clients.receiver(broker), on_acknowledged=clients.acknowledgement_log(broker)
            )
            recorder.note(Event.LINK_UP, peer=broker)
            session.on_up = partial(recorder.note, Event.LINK_UP, peer=broker)
            session.on_down = partial(recorder.note, Event.LINK_DOWN, peer=broker)
            self._sessions.setdefault(node, []).append(session)
