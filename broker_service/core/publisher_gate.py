"""The gate before the router: while it is closed, clients' publications wait in their sessions.

A session keeps its order, so whatever it brings behind a publication that waits does so, too. Sessions that bring no
publication go on. Shells stop to read a session that holds requests back, so that the rest waits at the client.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.core.session import Session
from broker_service.messages import ClientRequest


class PublisherGate:
    """The gate of one broker; it is open to begin with."""

    def __init__(self) -> None:
        self.closed = False
        self.reason = ""
        """Reason that the router gave for holding publishers."""
        self._holding: dict[Session, None] = {}

    @property
    def held(self) -> int:
        """Requests that wait, of all sessions."""
        return sum(len(session.held) for session in self._holding)

    def close(self, reason: str) -> None:
        self.closed, self.reason = True, reason

    def open(self) -> None:
        """Has the shell call `ClientSessions.resume` for each session that holds requests back."""
        self.closed = False
        for session in list(self._holding):
            session.on_released()

    def keep(self, session: Session, requests: Sequence[ClientRequest]) -> None:
        """Has requests wait in their session, behind those that wait there already."""
        session.held += requests
        self._holding[session] = None

    def take(self, session: Session) -> Sequence[ClientRequest]:
        """The requests that a session holds back, which it does no more."""
        held, session.held = session.held, []
        self._holding.pop(session, None)
        return held
