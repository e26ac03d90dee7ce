"""Turns, the pieces of work that processors have, and the ways of notifications through them.

Both are read off the records that nodes would log. A broker's turn is a frame that it handles, at the calibration's
charge; the relay has one for each frame between brokers, and on access links for each publication and notification; a
driver has one for each operation and each notification.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from emulation.planning.calibration import Calibration
from record.log import SAMPLED, Event, TraceRecord
from record.processors import RELAY

_CLIENT = ""
"""Name of the place of a publication that has not reached its first broker."""


class Turn(NamedTuple):
    """A piece of work of one node."""

    node: str
    ready: int
    """Nanoseconds from the start of the run phase at which it begins with a processor for each node."""
    work: int
    """Nanoseconds of processor time."""
    cause: int = -1
    """Index of the turn that caused this one; -1 for none."""


class Way(NamedTuple):
    """The end of a notification's way."""

    delay: int
    """Nanoseconds from the publication to the client, with a processor for each node."""
    turn: int
    """Index of the client's turn. Its chain of causes (`Turn.cause`) is all that the notification waited for."""


class _Frame(NamedTuple):
    """The latest frame that a broker handled."""

    time: int
    sender: str | None
    """The neighbour; None for clients."""
    turn: int


class TurnNotes:
    """Turns and ways so far, since `begin`."""

    def __init__(self, calibration: Calibration, sample: float, at_sites: Container[str] = ()) -> None:
        """`sample` is the share of publications that brokers log; clients `at_sites` have access links."""
        self.turns: list[Turn] = []
        self.ways: list[Way] = []
        self.records = 0.0
        self.records_before = 0.0
        """Records until `begin`."""
        self._sample = sample
        self._at_sites = at_sites
        self._calibration = calibration
        self._begin: int | None = None
        self._frames: dict[str, _Frame] = {}
        self._intended: dict[str, int] = {}
        """The intended time of each publication."""
        self._handled: dict[tuple[str, str], int] = {}
        """The turn in which a place handled a message first, by the place and the message's id."""

    def of(self, node: str) -> NotedTrace:
        """The trace of a node."""
        return NotedTrace(self, node)

    def begin(self, now: int) -> None:
        """Begins to note turns, at the start of the run phase."""
        self._begin, self.records_before, self.records = now, self.records, 0.0

    def take(self, node: str, record: TraceRecord) -> None:
        """Notes the turn that a record tells of."""
        self.records += self._sample if record.event in SAMPLED and record.kind == "publish" else 1.0
        if self._begin is None:
            return
        if record.event is Event.RECEIVED:
            self._received(node, record)
        elif record.event is Event.NOTIFIED:
            self._notified(node, record)
        elif record.event is Event.PUBLISH:
            self._intended[record.id or ""] = record.intended or record.time
            self._handled[_CLIENT, record.id or ""] = self._add(node, record.time, self._calibration.host.operation, -1)

    def _received(self, broker: str, record: TraceRecord) -> None:
        frame = self._frames.get(broker)
        if frame is None or (frame.time, frame.sender) != (record.time, record.peer):
            frame = self._frames[broker] = _Frame(record.time, record.peer, self._frame(broker, record))
        kind = "subscribe" if record.kind == "compose" else record.kind or ""
        self._prolong(frame.turn, self._calibration.work.get(kind, 0))
        self._handled.setdefault((broker, record.id or ""), frame.turn)

    def _frame(self, broker: str, record: TraceRecord) -> int:
        """Adds the turns of a frame; returns the place of the broker's."""
        cause = self._handled.get((record.peer or _CLIENT, record.id or ""), -1)
        if record.peer is not None or record.client in self._at_sites:
            arrived = record.arrived or record.time
            cause = self._add(RELAY, arrived, self._calibration.host.relayed_frame, cause)
        return self._add(broker, record.time, self._calibration.frame, cause)

    def _notified(self, node: str, record: TraceRecord) -> None:
        cause = self._handled.get((record.peer or _CLIENT, record.id or ""), -1)
        costs = self._calibration.host
        if record.client in self._at_sites:
            cause = self._add(RELAY, record.time - costs.notification, costs.relayed_frame, cause)
        turn = self._add(node, record.time, costs.notification, cause)
        intended = self._intended.get(record.id or "")
        if intended is not None and cause >= 0:
            self.ways.append(Way(record.time - intended, turn))

    def _add(self, node: str, end: int, work: int, cause: int) -> int:
        """Adds a turn that ends then; returns its place."""
        assert self._begin is not None
        self.turns.append(Turn(node, end - work - self._begin, work, cause))
        return len(self.turns) - 1

    def _prolong(self, place: int, work: int) -> None:
        turn = self.turns[place]
        self.turns[place] = turn._replace(ready=turn.ready - work, work=turn.work + work)


class NotedTrace:
    """A `broker_service.tracing.trace.Trace` that keeps turns instead of records."""

    variant = "rehearsal"

    def __init__(self, notes: TurnNotes, node: str) -> None:
        self.node = node
        self.written = 0
        self._notes = notes

    def write(self, record: TraceRecord) -> None:
        self.written += 1
        self._notes.take(self.node, record)
