"""Client sessions of a simulated overlay, which outlive their brokers and find them again when these are restarted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import UNSET

from broker_service.client_library.client_requests import SessionLimits
from broker_service.messages import ClientEvent, ClientRequest
from broker_service.transport.silence import SILENT_HEARTBEATS
from emulation.live_overlay import BrokerSettings
from emulation.planning.calibration import Calibration
from emulation.simulation.access import AccessLink, AccessLinks
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.charging import sampler
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.sessions import SimulatedSession
from emulation.simulation.site_session import SiteSession
from emulation.simulation.slow_session import SlowSiteSession
from record.callbacks import do_nothing
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkDirection
from topology.sites import Site


@dataclass(frozen=True, slots=True)
class _Opened:
    """A session, and the way to its broker."""

    home: BrokerId
    session: SimulatedSession
    access: AccessLink | None
    """The way over an access link; None for clients beside their broker."""


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
        self.events = events
        self._calibration = calibration
        self._sessions: list[_Opened] = []
        self._made = 0
        """Sessions opened so far, those included that their clients have left."""
        self.access_links = AccessLinks(f"{settings.seed}")

    def open(
        self,
        broker: BrokerId,
        on_event: Callable[[ClientEvent], None],
        limits: SessionLimits | None = None,
        on_acknowledged: Callable[[ClientRequest], None] = do_nothing,
        *,
        site: Site | None = None,
        former: SiteSession | None = None,
    ) -> SimulatedSession:
        """A session with a broker, open at once if the broker runs, else as soon as it does; over the access link of a
        site, once it has carried what opens a stream. It takes over what a `former` one with another broker leaves, and
        has its name."""
        source = random.Random(f"{self._settings.seed}:session {self._made}:{broker}")
        calibration = self._calibration
        submit, notify = sampler(calibration.submit, source), sampler(calibration.notify, source)
        name = f"{broker} {self._made}" if former is None else former.name
        bounds = self._settings.limits
        limits = limits or SessionLimits(
            message_bytes=bounds.message_bytes,
            reconnect_first=bounds.reconnect_first,
            reconnect_last=bounds.reconnect_last,
        )
        access = None if site is None else self.access_links.of(site)
        session = (
            SimulatedSession(
                broker,
                self.events,
                on_event,
                submit,
                notify,
                name=name,
                limits=limits,
                on_acknowledged=on_acknowledged,
            )
            if access is None
            else _session_at(site)(
                broker,
                self.events,
                on_event,
                access.paths(str(self._made), submit, notify),
                name=name,
                limits=limits,
                on_acknowledged=on_acknowledged,
            )
        )
        if former is not None and isinstance(session, SiteSession):
            session.succeed(former)
        opened = _Opened(broker, session, access)
        if isinstance(session, SlowSiteSession) and access is not None:
            session.on_ended = partial(self.events.after, access.closing, partial(self._lose, opened))
        self._sessions.append(opened)
        self._made += 1
        self._connect(opened)
        return session

    def break_stream(self, session: SimulatedSession) -> None:
        """Breaks a session's stream, as a network that fails does. The client opens another one when it tries next."""
        session.close()
        if (opened := self._opened(session)) is not None:
            self._try_again(opened)

    # Clients that end, and access links that fail

    def crash(self, session: SimulatedSession) -> None:
        """Has the client of a session on a site end. Its broker finds out at once, if the access link carries that. One
        that is on its way has no access link, and its broker finds out as of all that have left."""
        if not isinstance(session, SiteSession):
            raise ValueError("a client beside its broker has no host that could crash")
        opened = self._opened(session)
        if opened is None or (access := opened.access) is None:
            session.vanish()
        elif access.whole:
            session.crash()
        else:
            access.abandoned.append(session.vanish())

    def come_back(self, session: SimulatedSession) -> None:
        """Has a client that ended run again. It connects as soon as it can: at once, or when it arrives."""
        if isinstance(session, SiteSession):
            session.runs = True
        if (opened := self._opened(session)) is not None:
            self._connect(opened)

    def open_at(self, site: str) -> Mapping[BrokerId, int]:
        """The number of open sessions of a site's clients, by broker."""
        return Counter(
            opened.home
            for opened in self._sessions
            if opened.access is not None and opened.access.site.name == site and opened.session.up
        )

    def over(self, access: AccessLink) -> Sequence[SimulatedSession]:
        """The sessions over an access link, open or not."""
        return [opened.session for opened in self._sessions if opened.access is access]

    def cut(self, access: AccessLink, direction: LinkDirection) -> None:
        """Cuts a direction of an access link. Sessions over it end at both ends when that has lasted for ten
        heartbeats."""
        access.cut(direction)
        silence = SILENT_HEARTBEATS * self._settings.limits.heartbeat
        self.events.after(silence, partial(self._fall_silent, access, access.changes))

    def restore(self, access: AccessLink, direction: LinkDirection) -> None:
        """Undoes `cut`: what waited meanwhile is sent, and clients without a session try to open one."""
        for call in access.restore(direction):
            self.events.soon(call)
        if not access.whole:
            return
        abandoned, access.abandoned = access.abandoned, []
        for end_at_broker in abandoned:  # the client's host answers what the broker sends with a reset
            self.events.after(access.opening + self._settings.limits.heartbeat, end_at_broker)
        for opened in self._sessions:
            if opened.access is access and not opened.session.up:
                self._try_again(opened)
            elif opened.access is access and opened.session.incarnation_ended:
                self.events.after(access.closing, partial(self._lose, opened))

    def _fall_silent(self, access: AccessLink, changes: int) -> None:
        if access.changes != changes:
            return
        abandoned, access.abandoned = access.abandoned, []
        for end_at_broker in abandoned:
            end_at_broker()
        for opened in self._sessions:
            if opened.access is access and opened.session.up and isinstance(opened.session, SiteSession):
                opened.session.expire()

    def _opened(self, session: SimulatedSession) -> _Opened | None:
        """The session with the way to its broker; None where its client has left that one."""
        return next((opened for opened in self._sessions if opened.session is session), None)

    # Clients that move

    def end(self, session: SiteSession) -> None:
        """The client ends its session in order, because it leaves the broker. It opens no other one by itself."""
        session.left = True
        opened = self._opened(session)
        if opened is not None and opened.access is not None and not opened.access.whole:
            self.abandon(session)
        else:
            session.close()
            self._sessions = [other for other in self._sessions if other is not opened]

    def abandon(self, session: SiteSession) -> None:
        """The client loses the access link of its session, whose end at the broker ends by silence."""
        silence = round(SILENT_HEARTBEATS * self._settings.limits.heartbeat * SECOND)
        session.left = True
        self.events.background(self.events.now + silence, session.lost_at_broker())
        session.lose()
        self._sessions = [opened for opened in self._sessions if opened.session is not session]

    def connect(self) -> None:
        """Connects the sessions that were opened before their brokers were started."""
        for opened in self._sessions:
            self._connect(opened)

    def lose(self, broker: BrokerId) -> None:
        """Clients find out that their broker has ended, those on sites when their access link has carried that."""
        for opened in self._sessions:
            if opened.home == broker:
                if opened.access is None:
                    opened.session.lose()
                elif opened.access.whole:
                    self.events.after(opened.access.closing, partial(self._lose, opened))

    def find_again(self, broker: BrokerId) -> None:
        """Clients find their restarted broker when they try next."""
        for opened in self._sessions:
            if opened.home == broker and not opened.session.up:
                self._try_again(opened)

    def _lose(self, opened: _Opened) -> None:
        opened.session.lose()
        if opened.home in self._running:  # restarted meanwhile
            self._try_again(opened)

    def _try_again(self, opened: _Opened) -> None:
        self.events.at(opened.session.next_attempt(), partial(self._connect, opened))

    def _connect(self, opened: _Opened) -> None:
        if opened.access is None:
            self._join(opened)
        else:
            self.events.after(opened.access.opening, partial(self._join, opened))

    def _join(self, opened: _Opened) -> None:
        session, access = opened.session, opened.access
        reachable = access is None or access.whole
        runs = not isinstance(session, SiteSession) or (session.runs and not session.left)
        broker = self._running.get(opened.home)
        if broker is None or not reachable or not runs or session.up:
            return
        if not broker.hold(partial(self._join, opened)):  # a frozen broker's kernel answers, and the broker does not
            session.connect(broker)


def _session_at(site: Site | None) -> Callable[..., SiteSession]:
    """Makes sessions of a site's clients."""
    if site is None or site.reads is UNSET:
        return SiteSession
    return partial(SlowSiteSession, reads=site.reads)
