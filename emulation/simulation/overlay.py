"""A running overlay in virtual time: broker cores, modelled links and client sessions."""

from __future__ import annotations

import math
from collections.abc import Callable

from broker_service.routing.foreign import FOREIGN, NOT_SIMULATED
from broker_service.tracing.trace import Trace
from emulation.live_overlay import BrokerConfigs, BrokerSettings, MeshConfigs
from emulation.planning.calibration import Calibration
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.contents import Contents
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.overlay_brokers import SimulatedBrokers
from emulation.simulation.overlay_links import SimulatedLinks
from record.errors import HostError
from record.time_units import SECOND
from topology.link_properties import BrokerId
from topology.model import MeshLinks, Overlay

SETTLE_WITHIN = 600.0
"""Virtual seconds after which messages that still move are taken to move endlessly."""

_NO_TIME: Callable[[], int] = int
"""A stopwatch that always shows 0 nanoseconds; the type `int` costs a fifth of a function written in Python."""


class SimulatedOverlay:
    """A `LiveOverlay` of broker cores, joined by modelled links."""

    def __init__(
        self,
        overlay: Overlay,
        settings: BrokerSettings,
        trace_of: Callable[[BrokerId], Trace],
        events: EventQueue | None = None,
        *,
        calibration: Calibration | None = None,
        stopwatch: Callable[[], int] | None = None,
    ) -> None:
        """`trace_of` gives the log of each broker; `calibration` is the cost of a broker's own work, by default none.

        `stopwatch` returns nanoseconds, by which routers' work is timed; by default it takes no time.
        """
        if settings.protocol == FOREIGN:
            raise HostError(NOT_SIMULATED)
        self.overlay = overlay
        on_demand = isinstance(overlay.links, MeshLinks) and len(overlay.brokers) > settings.limits.eager_mesh
        configs = BrokerConfigs(overlay, settings) if not on_demand else MeshConfigs(overlay, settings)
        calibration = calibration or Calibration.free()
        self.events = events or EventQueue()
        self.contents = Contents()
        """Contents of publications, shared by all nodes."""
        self._running: dict[BrokerId, SimulatedBroker] = {}
        traces = {broker.id: trace_of(broker.id) for broker in overlay.brokers}
        self.sessions = OpenSessions(settings, self._running, self.events, calibration)
        self.links = SimulatedLinks(overlay, settings, configs, self._running, sessions=self.sessions)
        self.brokers = SimulatedBrokers(
            configs,
            settings,
            traces,
            self.events,
            self.contents,
            running=self._running,
            links=self.links,
            sessions=self.sessions,
            calibration=calibration,
            stopwatch=stopwatch or _NO_TIME,
        )

    @property
    def settled(self) -> bool:
        """True while no message moves."""
        return self.events.settled

    @property
    def busy(self) -> list[BrokerId]:
        """Brokers at which messages wait, are served or are on their way to a neighbour; none when all is settled."""
        if self.settled:
            return []
        return [name for name, broker in self._running.items() if broker.busy]

    def start(self) -> None:
        """Starts all brokers; links come up as their streams are opened. Sessions opened before are connected."""
        for broker in self.overlay.brokers:
            self.brokers.start(broker.id)
        self.links.connect_all()
        self.sessions.connect()

    def stop(self) -> None:
        """Ends all brokers in order, at this moment."""
        for broker in self._running.values():
            broker.stop()
        self._running.clear()

    def run_until(self, time: int) -> None:
        """Lets everything happen until this virtual time, in nanoseconds."""
        self.events.run_until(time)

    def pass_time(self, seconds: float) -> None:
        """Lets everything happen in that many virtual seconds."""
        self.run_until(self.events.now + round(seconds * SECOND))

    def settle(self, within: float = SETTLE_WITHIN) -> None:
        """Lets virtual time pass until nothing moves, `within` seconds at most. Raises `UnsettledError`."""
        self.events.settle(round(within * SECOND))

    def quiet_watch(self) -> SimulatedQuietWatch:
        return SimulatedQuietWatch(self)


class SimulatedQuietWatch:
    """A `QuietWatch` of the event queue, which knows at any time whether a message moves."""

    def __init__(self, overlay: SimulatedOverlay) -> None:
        self._overlay = overlay

    @property
    def busy(self) -> list[BrokerId]:
        return self._overlay.busy

    @property
    def quiet_for(self) -> float:
        return math.inf if self._overlay.settled else 0.0

    def look(self, end: int) -> None:
        """Needs no look."""
