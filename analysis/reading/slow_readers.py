"""Reading of the records that tell what clients which read at a rate have got, and what they have not."""

from __future__ import annotations

from collections.abc import Container
from sys import intern

from analysis.reading.log_events import Reading
from record.log import Event, TraceRecord
from record.unread import UNREAD

_OF_READERS = frozenset({Event.DELIVERED, Event.NOTIFIED, Event.DROPPED, Event.MISSED})


class SlowReaderRecords:
    """Records of one event and one broker, of which those of slow readers are kept."""

    def __init__(self, slow: Container[str], readings: list[Reading], variant: int, broker: str) -> None:
        self._slow = slow
        self._readings = readings
        self._variant = variant
        self._broker = broker

    @staticmethod
    def may_be(event: Event, text: str | None) -> bool:
        """True where records of this event, with this text, may be of slow readers."""
        return event in _OF_READERS and (event is not Event.DROPPED or text == UNREAD)

    def add(self, record: TraceRecord) -> None:
        client = record.client
        if client is None or client not in self._slow:
            return
        amount = (record.count if record.event is Event.MISSED else record.bytes) or 0
        self._readings.append(
            Reading(
                self._variant, intern(client), record.event, record.time, self._broker, record.id or "", amount
            )
        )  # fmt: skip
