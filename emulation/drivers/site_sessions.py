"""The sessions of a driver's clients on sites, each with the broker that its client is at: faults end them, moves give
their clients other ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

from broker_service.client_library.client_session import ClientSession
from emulation.drivers.clients import Clients
from emulation.drivers.site_end import SiteEnd
from record.handover import Handover

MakeSession = Callable[[str, str], ClientSession]
"""Makes the session of a client with a broker, which the clients of the driver know from then on."""


class SiteSessions:
    """Sessions of clients on sites. A client has one, and two while it makes one before it breaks with the other."""

    def __init__(self, make: MakeSession, clients: Clients) -> None:
        self._make = make
        self._clients = clients
        self._present: dict[str, ClientSession] = {}
        """The session of each client that its operations go to."""
        self._former: dict[str, ClientSession] = {}
        """The session of each client that has another one already and has not left this one yet."""
        self._left: list[ClientSession] = []
        """Sessions that their clients have left."""
        self._between: set[str] = set()
        """Clients that have left a broker, and have not arrived at the next one."""
        self._frozen: set[str] = set()

    def place(self, client: str, end: SiteEnd) -> None:
        """The session of a client at the begin."""
        self._present[client] = session = self._make(client, end.broker)
        _reach(session, end)

    # Faults of clients

    def crash(self, clients: Iterable[str]) -> None:
        """Ends clients of this driver, with all of their sessions."""
        for client in self._own(clients):
            if (former := self._former.pop(client, None)) is not None:
                former.crash()
                self._left.append(former)
            self._present[client].crash()

    def restart(self, clients: Iterable[str]) -> None:
        for client in self._own(clients):
            self._open(client)

    def pause(self, clients: Iterable[str]) -> None:
        for client in self._own(clients):
            self._frozen.add(client)
            for session in self._of(client):
                session.pause()

    def resume(self, clients: Iterable[str]) -> None:
        for client in self._own(clients):
            self._frozen.discard(client)
            for session in self._of(client):
                session.resume()
            self._open(client)

    # Moves

    async def depart(self, clients: Iterable[str], broker: str, handover: Handover) -> None:
        """Clients leave the brokers that they have been at, for this one; returns when all have."""
        await asyncio.gather(*(self._leave(client, broker, handover) for client in self._own(clients)))

    def arrive(self, ends: Mapping[str, SiteEnd]) -> None:
        """Clients have access links at these ends. One that has left no broker keeps its session with that one."""
        for client in self._own(ends):
            if client not in self._between:
                self._former[client] = self._present[client]
                self._succeed(client, ends[client].broker)
            self._between.discard(client)
            _reach(self._present[client], ends[client])
            self._open(client)

    async def close(self) -> None:
        """Ends the sessions that clients have left; the others are the driver's to end."""
        await asyncio.gather(*(session.close() for session in (*self._left, *self._former.values())))

    async def _leave(self, client: str, broker: str, handover: Handover) -> None:
        if handover.is_soft:
            left = self._former.pop(client, None)
        else:
            left = self._present[client]
            self._between.add(client)
            self._succeed(client, broker)
        if left is None:
            return
        self._left.append(left)
        if handover is Handover.UNANNOUNCED or client in self._frozen:
            left.fall_silent()
        else:
            await left.close()

    def _succeed(self, client: str, broker: str) -> None:
        """Gives a client a session that takes over from its present one; it is not open yet."""
        former = self._present[client]
        self._clients.move(client, broker)
        self._present[client] = session = self._make(client, broker)
        session.succeed(former)

    def _open(self, client: str) -> None:
        """Opens the session of a client that runs and has arrived, unless it is open."""
        if client not in self._clients.away | self._between | self._frozen:
            self._present[client].restart()

    def _own(self, clients: Iterable[str]) -> Iterator[str]:
        """The clients among these that this driver acts for."""
        return (client for client in clients if client in self._present)

    def _of(self, client: str) -> list[ClientSession]:
        former = self._former.get(client)
        return [self._present[client], *([] if former is None else [former])]


def _reach(session: ClientSession, end: SiteEnd) -> None:
    """Tells a session where its broker is, and from where to reach it."""
    session.address, session.make_socket, session.reads = end.address, end.socket, end.reads
