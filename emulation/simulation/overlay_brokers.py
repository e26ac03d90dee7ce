"""The brokers of a simulated overlay: their incarnations, and the faults that befall them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial

from broker_service.config import Disturbance
from broker_service.core.broker import Broker
from broker_service.grpc_shell.status import status_of
from broker_service.tracing.trace import Trace
from emulation.live_overlay import BrokerConfigs, BrokerSettings, BrokerStatus, Tables
from emulation.planning.calibration import Calibration
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.contents import Contents
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.overlay_links import SimulatedLinks
from record.errors import HostError
from record.service_time import ServiceTime
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkDirection

_STOP_LOOK = 0.005
"""Virtual seconds between two looks whether a stopping broker has passed on what waited."""


class SimulatedBrokers:
    """`LiveBrokers` of broker cores in virtual time."""

    def __init__(
        self,
        configs: BrokerConfigs,
        settings: BrokerSettings,
        traces: Mapping[BrokerId, Trace],
        events: EventQueue,
        contents: Contents,
        *,
        running: MutableMapping[BrokerId, SimulatedBroker],
        links: SimulatedLinks,
        sessions: OpenSessions,
        calibration: Calibration,
        stopwatch: Callable[[], int],
    ) -> None:
        """`running` has the brokers that run at any time, for links and sessions to find them."""
        self._configs = configs
        self._settings = settings
        self._traces = traces
        self._events = events
        self._contents = contents
        self._running = running
        self._links = links
        self._sessions = sessions
        self._calibration = calibration
        self._stopwatch = stopwatch
        self._processes: dict[BrokerId, list[SimulatedBroker]] = {broker: [] for broker in traces}
        """The latest incarnation of each broker, and any before it that did not end."""
        self._incarnations = dict.fromkeys(traces, 0)
        self._stored: dict[BrokerId, dict[str, bytes]] = {}
        """Stable storage of the brokers that were started, which outlives each incarnation."""

    @property
    def cores(self) -> Mapping[BrokerId, Broker]:
        """Cores of the running brokers, for their tables and counters."""
        return {name: broker.core for name, broker in self._running.items()}

    def processes(self, broker: BrokerId) -> Sequence[SimulatedBroker]:
        """The processes of a broker that exist, a frozen one included."""
        return [process for process in self._processes[broker] if process.alive]

    def start(self, broker: BrokerId) -> None:
        """Starts the next incarnation of a broker. Its links are not opened yet."""
        self._incarnations[broker] += 1
        started = SimulatedBroker(
            self._configs.of(broker, self._incarnations[broker]),
            self._events,
            self._traces[broker],
            self._calibration,
            stored=self._stored.setdefault(broker, {}),
            stopwatch=self._stopwatch,
            decode=self._contents.decode,
            mesh=self._links.mesh,
        )
        self._running[broker] = started
        self._processes[broker] = [*self.processes(broker), started]
        self._links.attach(started)

    # Faults

    def runs(self, broker: BrokerId) -> bool:
        return broker in self._running

    def kill(self, broker: BrokerId) -> None:
        """A crash. Neighbours and clients see their streams break, a link's delay later. Its links stay."""
        self._running.pop(broker).kill()
        self._leave(broker)

    def stop(self, broker: BrokerId) -> None:
        """Ends a broker in order: it takes nothing new from clients, and passes on waiting messages first."""
        stopping = self._running[broker]
        stopping.stopping = True
        within = self._settings.limits.stop_within
        self._end_when_flushed(broker, stopping, self._events.now + round(within * SECOND))

    def restart(self, broker: BrokerId) -> None:
        """A new incarnation, with empty tables. Neighbours and clients find it when they try next."""
        if broker in self._running:
            self._end(broker)
        self.start(broker)
        self._links.reconnect(broker)
        self._sessions.find_again(broker)

    def pause(self, broker: BrokerId) -> None:
        """Freezes a broker; its neighbours notice by the heartbeats they miss, clients do not notice."""
        self._running[broker].freeze()
        self._links.freeze(broker)

    def resume(self, broker: BrokerId) -> None:
        """Lets a paused broker go on. One that has ended since stays ended."""
        if broker in self._running:
            self._running[broker].thaw()
            self._links.thaw(broker)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        """Raises `HostError` unless `cores` is None."""
        if cores is not None:
            raise HostError(f"cannot throttle broker {broker}: virtual time has no CPU to share")

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        """Gives a broker another service time from now on; None: its own. Has no effect on a broker that is down."""
        if broker in self._running:
            self._running[broker].work_at(self._settings.service_time if service_time is None else service_time)

    def reset(self, direction: LinkDirection) -> None:
        self._links.between(direction.source, direction.target).reset(direction.source)

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        self._configs.disturb(direction, disturbance)
        neighbour, running = direction.source, self._running.get(direction.target)
        if running is not None:
            running.when_running(partial(running.core.neighbours.disturb, neighbour, disturbance))

    # Observation

    def status(self) -> Mapping[BrokerId, BrokerStatus]:
        return {name: status_of(broker) for name, broker in self.cores.items()}

    def tables(self) -> Tables:
        return {name: broker.tables() for name, broker in self.cores.items()}

    # Inside

    def _end_when_flushed(self, broker: BrokerId, stopping: SimulatedBroker, latest: int) -> None:
        if self._running.get(broker) is not stopping:
            return
        if stopping.held is None and (stopping.flushed or self._events.now >= latest):
            self._end(broker)
        else:
            self._events.after(_STOP_LOOK, partial(self._end_when_flushed, broker, stopping, latest))

    def _end(self, broker: BrokerId) -> None:
        self._running.pop(broker).stop()
        self._leave(broker)

    def _leave(self, broker: BrokerId) -> None:
        """Neighbours and clients find out that a broker has ended."""
        self._links.lose(broker)
        self._sessions.lose(broker)
