"""A running overlay in virtual time: broker cores, modelled links, client sessions, and their faults."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker_service.client_library.client_requests import SessionLimits
from broker_service.config import Disturbance
from broker_service.core.broker import Broker
from broker_service.grpc_shell.status import status_of
from broker_service.messages import ClientEvent, ClientRequest
from broker_service.tracing.trace import Trace
from emulation.live_overlay import BrokerConfigs, BrokerSettings, BrokerStatus, MeshConfigs, Tables
from emulation.planning.calibration import Calibration
from emulation.simulation.brokers import Mesh, SimulatedBroker
from emulation.simulation.charging import sampler
from emulation.simulation.contents import Contents
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.links_on_demand import LinkOnDemand
from emulation.simulation.overlay_link import SimulatedLink
from emulation.simulation.sessions import SimulatedSession
from record.callbacks import do_nothing
from record.errors import HostError
from record.service_time import ServiceTime
from record.time_units import SECOND
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import MeshLinks, Overlay

SETTLE_WITHIN = 600.0
"""Virtual seconds after which messages that still move are taken to move endlessly."""

_STOP_LOOK = 0.005
"""Virtual seconds between two looks whether a stopping broker has passed on what waited."""

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
        self.overlay = overlay
        self._settings = settings
        on_demand = isinstance(overlay.links, MeshLinks) and len(overlay.brokers) > settings.limits.eager_mesh
        self._configs = BrokerConfigs(overlay, settings) if not on_demand else MeshConfigs(overlay, settings)
        self._calibration = calibration or Calibration.free()
        self._stopwatch = stopwatch or _NO_TIME
        self.events = events or EventQueue()
        self._traces = {broker.id: trace_of(broker.id) for broker in overlay.brokers}
        self._random = random.Random(f"{settings.seed}:simulation")
        self.contents = Contents()
        """Contents of publications, shared by all nodes."""
        self._running: dict[BrokerId, SimulatedBroker] = {}
        self._processes: dict[BrokerId, list[SimulatedBroker]] = {broker: [] for broker in self._traces}
        """The latest incarnation of each broker, and any before it that did not end."""
        self._incarnations = dict.fromkeys(self._traces, 0)
        self._stored: dict[BrokerId, dict[str, bytes]] = {}
        """Stable storage of the brokers that were started, which outlives each incarnation."""
        self._links: dict[SimulatedLink, None] = {}
        """All present links, in the order in which they appeared; of a mesh with links on demand, the used ones."""
        self._links_of: dict[BrokerId, dict[BrokerId, SimulatedLink]] = {broker.id: {} for broker in overlay.brokers}
        """Links of `_links` by the brokers at both ends."""
        self._mesh = Mesh(self._configs.attributes, self._configs.link, self._connect) if on_demand else None
        """Mesh whose links are made on demand; None where all links are made at the beginning."""
        for link in () if on_demand else overlay.links:
            self._make_link(link)
        self._sessions: list[tuple[BrokerId, SimulatedSession]] = []

    @property
    def brokers(self) -> Mapping[BrokerId, Broker]:
        """Cores of the running brokers, for their tables and counters."""
        return {name: broker.core for name, broker in self._running.items()}

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
            self._start(broker.id)
        for link in self._links:
            link.connect()
        for home, session in self._sessions:
            self._reconnect(session, home)

    def stop(self) -> None:
        """Ends all brokers in order, at this moment."""
        for broker in self._running.values():
            broker.stop()
        self._running.clear()

    def open_session(
        self,
        broker: BrokerId,
        on_event: Callable[[ClientEvent], None],
        limits: SessionLimits | None = None,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
    ) -> SimulatedSession:
        """A session with a broker, open at once if the broker runs, else as soon as it does."""
        source = random.Random(f"{self._settings.seed}:session {len(self._sessions)}:{broker}")
        calibration = self._calibration
        submit, notify = sampler(calibration.submit, source), sampler(calibration.notify, source)
        name = f"{broker} {len(self._sessions)}"
        bounds = self._settings.limits
        limits = limits or SessionLimits(
            message_bytes=bounds.message_bytes,
            reconnect_first=bounds.reconnect_first,
            reconnect_last=bounds.reconnect_last,
        )
        session = SimulatedSession(
            broker, self.events, on_event, submit, notify, name=name, limits=limits, on_acknowledged=on_acknowledged
        )
        self._sessions.append((broker, session))
        if broker in self._running:
            session.connect(self._running[broker])
        return session

    def break_session(self, session: SimulatedSession) -> None:
        """Breaks a session's stream, as a network that fails does. The client opens another one when it tries next."""
        home = next(broker for broker, opened in self._sessions if opened is session)
        session.close()
        self._try_again(session, home)

    def await_links(self, within: float) -> None:
        self.settle(within)

    def pass_time(self, seconds: float) -> None:
        self.run_until(self.events.now + round(seconds * SECOND))

    def run_until(self, time: int) -> None:
        """Lets everything happen until this virtual time, in nanoseconds."""
        self.events.run_until(time)

    def settle(self, within: float = SETTLE_WITHIN) -> None:
        """Lets virtual time pass until nothing moves, `within` seconds at most. Raises `UnsettledError`."""
        self.events.settle(round(within * SECOND))

    # Faults of brokers

    def runs(self, broker: BrokerId) -> bool:
        return broker in self._running

    def kill(self, broker: BrokerId) -> None:
        """A crash. Neighbours and clients see their streams break, a link's delay later. Its links stay."""
        self._running.pop(broker).kill()
        self._leave(broker)

    def stop_broker(self, broker: BrokerId) -> None:
        """Ends a broker in order: it takes nothing new from clients, and passes on waiting messages first."""
        stopping = self._running[broker]
        stopping.stopping = True
        within = self._settings.limits.stop_within
        self._end_when_flushed(broker, stopping, self.events.now + round(within * SECOND))

    def restart(self, broker: BrokerId) -> None:
        """A new incarnation, with empty tables. Neighbours and clients find it when they try next."""
        if broker in self._running:
            self._end(broker)
        self._start(broker)
        for link in self._links_of[broker].values():
            if link.a == broker:
                link.connect()
            else:
                link.connect_soon()
        for home, session in self._sessions:
            if home == broker and not session.up:
                self._try_again(session, broker)

    def pause(self, broker: BrokerId) -> None:
        """Freezes a broker; its neighbours notice by the heartbeats they miss, clients do not notice."""
        self._running[broker].freeze()
        for link in self._links_of[broker].values():
            link.freeze()

    def resume(self, broker: BrokerId) -> None:
        """Lets a paused broker go on. One that has ended since stays ended."""
        if broker in self._running:
            self._running[broker].thaw()
            for link in self._links_of[broker].values():
                link.thaw(broker)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        """Raises `HostError` unless `cores` is None."""
        if cores is not None:
            raise HostError(f"cannot throttle broker {broker}: virtual time has no CPU to share")

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        """Gives a broker another service time from now on; None: its own. Has no effect on a broker that is down."""
        if broker in self._running:
            self._running[broker].work_at(self._settings.service_time if service_time is None else service_time)

    # Links that appear and vanish

    def add_link(self, link: Link) -> None:
        """A broker that is frozen learns of its neighbour once it continues, one that is down when it is restarted."""
        self._configs.add_link(link)
        made = self._make_link(link)
        for broker in (link.a, link.b):
            if broker in self._running:
                self._running[broker].when_running(partial(self._join, broker, made))
        connect = made.connect  # behind what either broker still has to do, which may be to join
        for broker in (link.a, link.b):
            if broker in self._running:
                connect = partial(self._running[broker].in_turn, connect)
        connect()

    def remove_link(self, a: BrokerId, b: BrokerId) -> None:
        """Parts two brokers. One that is frozen learns of it once it continues, one that is down when it is
        restarted."""
        self._configs.remove_link(a, b)
        link = self._links_of[a].pop(b)
        del self._links_of[b][a], self._links[link]
        link.vanish()
        for broker in (a, b):
            if broker in self._running:
                self._running[broker].when_running(partial(self._part, broker, link))

    # Faults of links

    def cut(self, direction: LinkDirection) -> None:
        """Both directions fail soon after one is cut: the end that receives nothing gives the link up."""
        self.link(direction.source, direction.target).cut(direction.source)

    def restore(self, direction: LinkDirection) -> None:
        """Messages that the direction held arrive, or a new stream is opened."""
        self.link(direction.source, direction.target).restore(direction.source)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        source, target = direction.source, direction.target
        self.link(source, target).change(source, properties)
        if properties.send_time != self._configs.link(source, target).send_time:
            self._configs.change_send_time(direction, properties.send_time)
            if source in self._running:
                running = self._running[source]
                running.when_running(partial(running.core.change_send_time, target, properties.send_time))

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        self.link(direction.source, direction.target).corrupt(direction.source, share)

    def reset(self, direction: LinkDirection) -> None:
        self.link(direction.source, direction.target).reset(direction.source)

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        self._configs.disturb(direction, disturbance)
        neighbour, running = direction.source, self._running.get(direction.target)
        if running is not None:
            running.when_running(partial(running.core.disturb, neighbour, disturbance))

    # Observation

    def status(self) -> Mapping[BrokerId, BrokerStatus]:
        return {name: status_of(broker) for name, broker in self.brokers.items()}

    def tables(self) -> Tables:
        return {name: broker.tables() for name, broker in self.brokers.items()}

    def processes(self, broker: BrokerId) -> Sequence[SimulatedBroker]:
        """The processes of a broker that exist, a frozen one included."""
        return [process for process in self._processes[broker] if process.alive]

    def known_link(self, a: BrokerId, b: BrokerId) -> SimulatedLink | None:
        """The link between two brokers; None for one that is not there, or that was not used so far."""
        return self._links_of[a].get(b)

    def quiet_watch(self) -> SimulatedQuietWatch:
        return SimulatedQuietWatch(self)

    def link(self, a: BrokerId, b: BrokerId) -> SimulatedLink:
        """The link between two brokers, made if it is on demand. Raises `KeyError` for brokers without a link."""
        links = self._links_of[a]
        return self._make_link(self.overlay.link(a, b)) if self._mesh is not None and b not in links else links[b]

    # Inside

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        self.events.at(self.events.now + round(seconds * SECOND), call)

    def _end_when_flushed(self, broker: BrokerId, stopping: SimulatedBroker, latest: int) -> None:
        if self._running.get(broker) is not stopping:
            return
        if stopping.held is None and (stopping.flushed or self.events.now >= latest):
            self._end(broker)
        else:
            self._after(_STOP_LOOK, partial(self._end_when_flushed, broker, stopping, latest))

    def _end(self, broker: BrokerId) -> None:
        self._running.pop(broker).stop()
        self._leave(broker)

    def _leave(self, broker: BrokerId) -> None:
        """Neighbours and clients find out that a broker has ended."""
        for link in self._links_of[broker].values():
            link.lose(broker)
        for home, session in self._sessions:
            if home == broker:
                session.lose()

    def _start(self, broker: BrokerId) -> None:
        self._incarnations[broker] += 1
        started = SimulatedBroker(
            self._configs.of(broker, self._incarnations[broker]),
            self.events,
            self._traces[broker],
            self._calibration,
            stored=self._stored.setdefault(broker, {}),
            stopwatch=self._stopwatch,
            decode=self.contents.decode,
            mesh=self._mesh,
        )
        self._running[broker] = started
        self._processes[broker] = [*(process for process in self._processes[broker] if process.alive), started]
        for neighbour, link in self._links_of[broker].items():
            link.attach(broker, started.ends[neighbour])

    def _make_link(self, link: Link) -> SimulatedLink:
        """Each appearance of a link draws from streams of its own, so that it does not repeat the former one's."""
        appearance = self._configs.link(link.a, link.b).appearance
        seed = f"{self._settings.seed}" if appearance == 1 else f"{self._settings.seed}:{appearance}"
        kind = SimulatedLink if self._mesh is None else LinkOnDemand
        made = kind(link, self.events, self._settings.limits, self._random, seed)
        self._links_of[link.a][link.b] = self._links_of[link.b][link.a] = made
        self._links[made] = None
        return made

    def _connect(self, broker: BrokerId, neighbour: BrokerId) -> None:
        """Has a broker open a stream to a neighbour over a link that is made on demand."""
        link = self.link(broker, neighbour)
        for end, other in ((broker, neighbour), (neighbour, broker)):
            running = self._running.get(end)
            if running is not None and link.end(end) is None:
                link.attach(end, running.end(other))
        link.connect(broker)

    def _join(self, broker: BrokerId, link: SimulatedLink) -> None:
        """Has a broker know a neighbour, unless the link has vanished while the broker was frozen."""
        neighbour, running = link.other(broker), self._running.get(broker)
        if running is not None and self._links_of[broker].get(neighbour) is link and neighbour not in running.ends:
            link.attach(broker, running.add_link(self._configs.link(broker, neighbour)))

    def _part(self, broker: BrokerId, link: SimulatedLink) -> None:
        """Has a broker forget a neighbour, if it ever knew it over this link."""
        neighbour, running, end = link.other(broker), self._running.get(broker), link.end(broker)
        if running is not None and end is not None and running.ends.get(neighbour) is end:
            running.remove_link(neighbour)

    def _try_again(self, session: SimulatedSession, broker: BrokerId) -> None:
        self.events.at(session.next_attempt(), partial(self._reconnect, session, broker))

    def _reconnect(self, session: SimulatedSession, broker: BrokerId) -> None:
        if broker in self._running and not session.up:
            session.connect(self._running[broker])


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
