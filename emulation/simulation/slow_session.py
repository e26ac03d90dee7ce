"""Simulated sessions of clients that read at a rate: `emulation.simulation.site_session`, read one by one.

A frame holds its place in the stream's window until all of it is read. So what the client does not read fills the
window, then the session's queue at the broker, whose policy says what becomes of the rest (`record.unread`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from broker_service.core.session import Session
from broker_service.messages import BrokerFrame, ClientEvent, Outcome
from emulation.simulation.access import AccessPaths
from emulation.simulation.brokers import SimulatedBroker
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.site_session import SiteSession
from record.callbacks import do_nothing
from record.time_units import SECOND


class SlowSiteSession(SiteSession):
    """The session of one client that reads at a rate, over its site's access link."""

    def __init__(
        self,
        address: str,
        events: EventQueue,
        on_event: Callable[[ClientEvent], None],
        paths: AccessPaths,
        *,
        reads: float,
        **others: Any,
    ) -> None:
        """`reads` is the number of notifications that it reads in a second; `others` are those of `SiteSession`."""
        super().__init__(address, events, on_event, paths, **others)
        self.on_ended: Callable[[], None] = do_nothing
        """Called when the broker has ended the stream, because the client does not read."""
        self._interval = round(SECOND / reads)

    def connect(self, broker: SimulatedBroker) -> None:
        self._return = 0
        super().connect(broker)
        if (session := self._session) is not None:
            session.on_unread = partial(self._events.soon, partial(self._end_unread, broker, session))

    def _carry(self, session: Session, frame: BrokerFrame) -> None:
        """Sends a frame over the link; each of its events is read behind what came before."""
        events, path = self._events, self._paths.to_client
        read = max(self._return, path.frame_at(events.now, frame))
        for event in frame.events:
            if event.outcome is Outcome.NOTIFIED:
                read += self._interval
            events.at(read, partial(self._take, session, BrokerFrame((event,)), path.left_at))
        if frame.acknowledged:
            events.at(read, partial(self._take, session, msgspec.structs.replace(frame, events=()), path.left_at))
        path.read_at(read)
        self._return = read

    def _end_unread(self, broker: SimulatedBroker, session: Session) -> None:
        """The broker ends the stream, with all that waits for it."""
        if session is not self._session or session.continued or not broker.alive:
            return
        broker.core.sessions.close(session)
        session.continued = True
        session.on_waiting = do_nothing
        session.take(session.waiting)
        self._unsent.clear()
        self.on_ended()
