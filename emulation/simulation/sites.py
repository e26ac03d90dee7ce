"""The sites of a simulated run: faults of their clients, and the sessions that moves take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from broker_service.tracing.trace import Recorder
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.ended_clients import EndedClients
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.sessions import SimulatedSession
from emulation.simulation.site_session import SiteSession
from record.handover import Handover
from topology.sites import ClientHost, Move, PresentSites, Site


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a simulated run: its clients, and their sessions by the keys of their ends."""

    clients: Clients
    recorder: Recorder
    sessions: dict[str, SimulatedSession]

    def open(self, end: SessionEnd, make: Callable[..., SimulatedSession]) -> SimulatedSession:
        """Has a session made with the callbacks of its end, by which the node receives its events and logs it."""
        made: list[SimulatedSession] = []
        session = make(
            end.broker,
            self.clients.receiver(end, partial(_came, made)),
            on_acknowledged=self.clients.acknowledgement_log(end.broker),
        )
        made.append(session)
        self.sessions[end.key] = session
        end.log_streams(session, self.recorder)
        if session.up:
            session.on_up()
        return session

    def forget(self, end: SessionEnd, session: SimulatedSession) -> None:
        """The session is none of the node's any more, or not under this end."""
        if self.sessions.get(end.key) is session:
            del self.sessions[end.key]


@dataclass(frozen=True, slots=True)
class _Held:
    """The session of one client at a site."""

    node: Node
    end: SessionEnd
    session: SiteSession


class SimulatedSites:
    """`LiveSites` in virtual time."""

    def __init__(self, sites: Iterable[Site], sessions: OpenSessions) -> None:
        self.sites = tuple(sites)
        self._present = PresentSites(self.sites)
        self._sessions = sessions
        for site in self.sites:  # those without clients, too, whose access links fail as others do
            sessions.access_links.of(site)
        self._held: dict[str, _Held] = {}
        """The session that each client uses."""
        self._former: dict[str, _Held] = {}
        """Sessions that clients have besides, while they make a new one before they break with the old one."""
        self._left: dict[Move, Site] = {}
        """Sites, at their old brokers, with such clients."""
        self._ended, self._paused = EndedClients(), EndedClients()

    def hold(self, node: Node, end: SessionEnd, session: SimulatedSession) -> None:
        """Records the session of a client at a site."""
        if end.client is not None and isinstance(session, SiteSession):
            self._held[end.client] = _Held(node, end, session)

    # Faults

    def end(self, host: ClientHost) -> None:
        for client in self._ended.end(host):
            if client in self._held:
                self._held[client].node.clients.away.add(client)
                for held in self._of(client):
                    self._sessions.crash(held.session)
                if (former := self._former.pop(client, None)) is not None:
                    former.node.forget(former.end, former.session)

    def come_back(self, host: ClientHost) -> None:
        for client in self._ended.come_back(host):
            if client in self._held:
                self._held[client].node.clients.away.discard(client)
                self._sessions.come_back(self._held[client].session)

    def pause(self, host: ClientHost) -> None:
        for client in self._paused.end(host):
            for held in self._of(client):
                held.session.freeze()

    def resume(self, host: ClientHost) -> None:
        for client in self._paused.come_back(host):
            for held in self._of(client):
                held.session.thaw()

    # Moves

    def depart(self, move: Move) -> None:
        soft = move.handover.is_soft
        left, destination = self._left.pop(move, None) or self._present.site_now(move), self._present.destination(move)
        for client in self._moving(move):
            held = self._former.pop(client, None) if soft else self._held[client]
            if held is None:  # it has ended meanwhile, and its session with it
                continue
            held.node.forget(held.end, held.session)
            if move.handover is Handover.UNANNOUNCED or client in self._paused:
                self._sessions.abandon(held.session)
            else:
                self._sessions.end(held.session)
            if not soft:
                self._wait(client, held, destination)
        if move.of_site:
            self._sessions.access_links.remove(left)

    def arrive(self, move: Move) -> None:
        destination = self._present.destination(move)
        self._sessions.access_links.of(destination)
        if move.handover.is_soft:
            self._left[move] = self._present.site_now(move)
        for client in self._moving(move):
            held = self._held[client]
            if move.handover.is_soft:
                self._former[client] = held
            end = SessionEnd(destination.broker, client)
            held.node.clients.move(client, end.broker)
            make = partial(self._sessions.open, site=destination, former=held.session)
            self.hold(held.node, end, held.node.open(end, make))
        self._present.arrive(move)

    def _wait(self, client: str, held: _Held, destination: Site) -> None:
        """Has a client's operations from now on wait in its former session for the one that takes over from that."""
        end = SessionEnd(destination.broker, client)
        held.node.sessions[end.key] = held.session
        held.node.clients.move(client, end.broker)
        self._held[client] = _Held(held.node, end, held.session)

    def _of(self, client: str) -> list[_Held]:
        """The sessions of a client: none of one that the workload does not have, and two while it makes one before it
        breaks with the other."""
        held, former = self._held.get(client), self._former.get(client)
        return [session for session in (held, former) if session is not None]

    def _moving(self, move: Move) -> list[str]:
        """The clients of a move that have sessions: those that the workload has."""
        return [client for client in self._present.clients(move) if client in self._held]


def _came(made: Iterable[SimulatedSession]) -> int | None:
    """The time at which the latest events of a session came over its access link, if it has one."""
    return next((session.came for session in made if isinstance(session, SiteSession)), None)
