"""A whole overlay of broker cores in virtual time: brokers, links, sessions, and what can happen to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from broker_service.broker import Broker
from broker_service.client_requests import SessionLimits
from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.link_stream import MISSED_HEARTBEATS
from broker_service.messages import ClientEvent
from broker_service.service_time import ServiceTime
from broker_service.trace import Trace
from emulation.simulation.agenda import Agenda
from emulation.simulation.brokers import FRAME_BYTES, LinkEnd, SimulatedBroker
from emulation.simulation.calibration import Calibration
from emulation.simulation.links import NANOSECONDS, Direction
from emulation.simulation.sessions import SimulatedSession
from topology import BrokerId, Link, Overlay

SETTLE_WITHIN = 600.0
"""Virtual seconds after which messages that still move are taken to move for ever."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all brokers of a simulation have in common."""

    protocol: str = "tid"
    options: Mapping[str, object] = field(default_factory=dict)
    """The protocol's own, as in the scenario's `routing` section."""
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    service_time: ServiceTime = field(default_factory=ServiceTime)
    """Work added to each message, as `BrokerConfig.service_time`."""
    calibration: Calibration = field(default_factory=Calibration.free)
    """What a broker's own work takes besides."""
    variant: str = "base"


class SimulatedOverlay:
    """Brokers joined by modelled links. `trace_of` gives the log of each broker."""

    def __init__(
        self, overlay: Overlay, settings: Settings, trace_of: Callable[[BrokerId], Trace], agenda: Agenda | None = None
    ) -> None:
        self.overlay = overlay
        self.settings = settings
        self.agenda = agenda or Agenda()
        self._traces = {broker.id: trace_of(broker.id) for broker in overlay.brokers}
        self._random = random.Random(f"{settings.seed}:simulation")
        self._living: dict[BrokerId, SimulatedBroker] = {}
        self._incarnations = dict.fromkeys(self._traces, 0)
        self._links = [_SimulatedLink(link, settings.seed) for link in overlay.links]
        self._sessions: list[tuple[BrokerId, SimulatedSession]] = []
        self._streams = 0

    @property
    def brokers(self) -> Mapping[BrokerId, Broker]:
        """The cores of those that live, for their tables and counters."""
        return {name: broker.core for name, broker in self._living.items()}

    @property
    def settled(self) -> bool:
        """Whether nothing moves."""
        return self.agenda.settled

    @property
    def busy(self) -> list[BrokerId]:
        """Brokers at which messages wait, are served or are on their way to a neighbour; none when all is settled."""
        if self.settled:
            return []
        return [name for name, broker in self._living.items() if broker.busy]

    def start(self) -> None:
        """Starts all brokers; links come up as their streams are opened. Sessions opened before are connected."""
        for broker in self.overlay.brokers:
            self._start(broker.id)
        for link in self._links:
            self._connect(link)
        for home, session in self._sessions:
            self._reconnect(session, home)

    def stop(self) -> None:
        """Ends all brokers in order, at this moment."""
        for broker in self._living.values():
            broker.stop()
        self._living.clear()

    def open_session(
        self, broker: BrokerId, on_event: Callable[[ClientEvent], None], limits: SessionLimits | None = None
    ) -> SimulatedSession:
        """A session with a broker, open at once if it lives, else when it does."""
        source = random.Random(f"{self.settings.seed}:session {len(self._sessions)}:{broker}")
        calibration = self.settings.calibration
        submit, notify = calibration.submit.sampler(source), calibration.notify.sampler(source)
        session = SimulatedSession(broker, self.agenda, on_event, submit, notify, limits=limits)
        self._sessions.append((broker, session))
        if broker in self._living:
            session.connect(self._living[broker])
        return session

    def run_until(self, time: int) -> None:
        """Lets everything happen until this virtual time, in nanoseconds."""
        self.agenda.run_until(time)

    def settle(self, within: float = SETTLE_WITHIN) -> None:
        """Lets everything happen until nothing moves, at most so many seconds. Raises `UnsettledError`."""
        self.agenda.settle(round(within * NANOSECONDS))

    # What can happen

    def kill(self, broker: BrokerId) -> None:
        """A crash. Neighbours and clients see their streams break, a link's delay later. Its links stay."""
        self._living.pop(broker).kill()
        for link in self._links:
            if broker in link.ends:
                self._break(link, broker)
        for home, session in self._sessions:
            if home == broker:
                session.lose()

    def restart(self, broker: BrokerId) -> None:
        """A new incarnation, with empty tables. Neighbours and clients find it when they try next."""
        self._start(broker)
        for link in self._links:
            if broker in link.ends:
                wait = 0.0 if link.properties.a == broker else self._random.uniform(0, self._patience)
                self._after(wait, partial(self._connect, link))
        for home, session in self._sessions:
            if home == broker and not session.up:
                self._after(self._random.uniform(0, self._patience), partial(self._reconnect, session, broker))

    def cut(self, a: BrokerId, b: BrokerId) -> None:
        """A link carries nothing any more; its ends notice by the heartbeats they miss."""
        link = self._link(a, b)
        link.set_up(False)
        for broker, end in link.ends.items():
            missed = self._random.uniform(MISSED_HEARTBEATS, MISSED_HEARTBEATS + 1) * self.settings.limits.heartbeat
            if end is not None and link.stream:
                self._after(missed, partial(self._give_up, link, link.stream, broker))

    def restore(self, a: BrokerId, b: BrokerId) -> None:
        """A link that was cut works again: what it held arrives, or a new stream is opened."""
        link = self._link(a, b)
        link.set_up(True)
        if link.stream:
            for end in link.ends.values():
                if end is not None:
                    end.release()
        else:
            self._after(self._random.uniform(0, self._patience), partial(self._connect, link))

    # Inside

    @property
    def _patience(self) -> float:
        return self.settings.limits.reconnect_last

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        self.agenda.at(self.agenda.now + round(seconds * NANOSECONDS), call)

    def _link(self, a: BrokerId, b: BrokerId) -> _SimulatedLink:
        for link in self._links:
            if a in link.ends and b in link.ends:
                return link
        raise KeyError(f"no link {a} - {b}")

    def _start(self, broker: BrokerId) -> None:
        self._incarnations[broker] += 1
        settings = self.settings
        config = BrokerConfig(
            id=broker,
            incarnation=self._incarnations[broker],
            protocol=settings.protocol,
            options=dict(settings.options),
            attributes=dict(self.overlay.broker(broker).attributes),
            links=tuple(
                LinkConfig(
                    neighbour=neighbour,
                    local="",
                    remote="",
                    dial=False,
                    attributes=dict(self.overlay.broker(neighbour).attributes),
                )
                for neighbour in self.overlay.neighbours(broker)
            ),
            variant=settings.variant,
            seed=settings.seed,
            service_time=settings.service_time,
            limits=settings.limits,
        )
        started = SimulatedBroker(config, self.agenda, self._traces[broker], settings.calibration)
        self._living[broker] = started
        for link in self._links:
            if broker in link.ends:
                link.ends[broker] = started.ends[link.other(broker)]

    def _reconnect(self, session: SimulatedSession, broker: BrokerId) -> None:
        if broker in self._living and not session.up:
            session.connect(self._living[broker])

    # The life of a stream: the end that dials says hello, the other answers

    def _connect(self, link: _SimulatedLink) -> None:
        """The dialling end opens a connection, which takes a round trip, and says hello over it."""
        self._after(link.round_trip, partial(self._say_hello, link, *link.living_ends()))

    def _say_hello(self, link: _SimulatedLink, dialler: LinkEnd | None, listener: LinkEnd | None) -> None:
        if dialler is not None and listener is not None and link.ready(dialler, listener):
            arrival = link.forward.arrival(self.agenda.now, FRAME_BYTES, 0)
            handled = dialler.handled_of(listener)
            self.agenda.at(arrival, partial(self._answer, link, dialler, listener, handled))

    def _answer(self, link: _SimulatedLink, dialler: LinkEnd, listener: LinkEnd, handled: int) -> None:
        if link.ready(dialler, listener):
            self._streams += 1
            link.stream = self._streams
            arrival = link.backward.arrival(self.agenda.now, FRAME_BYTES, 0)
            opened = partial(self._open, link, dialler, listener, listener.handled_of(dialler))
            self.agenda.at(arrival, partial(opened, link.stream))
            listener.open(link.stream, dialler, link.backward, handled)

    def _open(self, link: _SimulatedLink, dialler: LinkEnd, listener: LinkEnd, handled: int, stream: int) -> None:
        if link.stream == stream and dialler.alive:
            dialler.open(stream, listener, link.forward, handled)

    def _break(self, link: _SimulatedLink, dead: BrokerId) -> None:
        """The stream of a broker that has ended breaks at its neighbour, when word of it has come over the link."""
        stream, link.stream = link.stream, 0
        link.ends[dead] = None
        neighbour = link.ends[link.other(dead)]
        if stream and neighbour is not None and link.forward.up:
            self._after(link.round_trip / 2, partial(_close, neighbour, stream))

    def _give_up(self, link: _SimulatedLink, stream: int, broker: BrokerId) -> None:
        """An end has missed its heartbeats; if the link works again by now, the other end hears of it."""
        end = link.ends[broker]
        if end is None or link.forward.up or not end.is_open(stream):
            return
        end.close()
        link.stream = 0


class _SimulatedLink:
    """A link, the ends of the brokers that live, and the stream between them."""

    def __init__(self, link: Link, seed: int) -> None:
        self.properties = link
        self.forward = Direction(link.forward, link.backward, f"{seed}:{link.a}-{link.b}")
        self.backward = Direction(link.backward, link.forward, f"{seed}:{link.b}-{link.a}")
        self.round_trip = link.forward.delay + link.backward.delay
        """Seconds."""
        self.ends: dict[BrokerId, LinkEnd | None] = {link.a: None, link.b: None}
        """By broker; None while it is dead."""
        self.stream = 0
        """The number of the stream in use; 0 for none."""

    def other(self, broker: BrokerId) -> BrokerId:
        return self.properties.b if broker == self.properties.a else self.properties.a

    def living_ends(self) -> tuple[LinkEnd | None, LinkEnd | None]:
        """The dialling end and the listening end."""
        return self.ends[self.properties.a], self.ends[self.properties.b]

    def ready(self, dialler: LinkEnd, listener: LinkEnd) -> bool:
        """Whether these two ends can have a new stream."""
        return self.forward.up and not self.stream and dialler.alive and listener.alive

    def set_up(self, up: bool) -> None:
        self.forward.up = self.backward.up = up


def _close(end: LinkEnd, stream: int) -> None:
    if end.is_open(stream):
        end.close()
