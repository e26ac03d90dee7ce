"""Client sessions of a simulated overlay, which outlive their brokers and find them again when these are restarted."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial

from broker_service.client_library.client_requests import SessionLimits
from broker_service.messages import ClientEvent, ClientRequest
from emulation.live_overlay import BrokerSettings
from emulation.planning.calibration import Calibration
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.charging import sampler
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.sessions import SimulatedSession
from record.callbacks import do_nothing
from topology.link_properties import BrokerId


class OpenSessions:
    """All sessions that clients have opened, each with the broker that it is for."""

    def __init__(
        self,
        settings: BrokerSettings,
        running: Mapping[BrokerId, SimulatedBroker],
        events: EventQueue,
        calibration: Calibration,
    ) -> None:
        """`running` has the brokers that run at any time."""
        self._settings = settings
        self._running = running
        self._events = events
        self._calibration = calibration
        self._sessions: list[tuple[BrokerId, SimulatedSession]] = []

    def open(
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
            broker, self._events, on_event, submit, notify, name=name, limits=limits, on_acknowledged=on_acknowledged
        )
        self._sessions.append((broker, session))
        self._connect(session, broker)
        return session

    def break_stream(self, session: SimulatedSession) -> None:
        """Breaks a session's stream, as a network that fails does. The client opens another one when it tries next."""
        home = next(broker for broker, opened in self._sessions if opened is session)
        session.close()
        self._try_again(session, home)

    def connect(self) -> None:
        """Connects the sessions that were opened before their brokers were started."""
        for home, session in self._sessions:
            self._connect(session, home)

    def lose(self, broker: BrokerId) -> None:
        """Clients find out that their broker has ended."""
        for home, session in self._sessions:
            if home == broker:
                session.lose()

    def find_again(self, broker: BrokerId) -> None:
        """Clients find their restarted broker when they try next."""
        for home, session in self._sessions:
            if home == broker and not session.up:
                self._try_again(session, broker)

    def _try_again(self, session: SimulatedSession, broker: BrokerId) -> None:
        self._events.at(session.next_attempt(), partial(self._connect, session, broker))

    def _connect(self, session: SimulatedSession, broker: BrokerId) -> None:
        if broker in self._running and not session.up:
            session.connect(self._running[broker])
