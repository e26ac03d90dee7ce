"""Moments that a held run is taken to: records of its log, in the words in which an exploration names them.

`B3 sent subscribe to B4` is the next record of its kind, `B3 sent subscribe number 4 to B4` the fourth since clients
began to join, and `B3 sent the first subscribe to B4` the first; `B3 sends ...` says the same, and so does
`B3 logged the first link_down of B4` of a record that is no verb. A record has to fit every word that is written, and
may have more to it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from record.errors import BadInputError
from record.log import EMULATOR, Event, TraceRecord

_GAUGES = frozenset({Event.QUEUE, Event.BUFFER, Event.LOAD, Event.LAG})
_SAID: dict[str, Event] = {
    "sends": Event.SENT,
    "receives": Event.RECEIVED,
    "drops": Event.DROPPED,
    "delivers": Event.DELIVERED,
    "detects": Event.DETECTED,
    "publishes": Event.PUBLISH,
    "subscribes": Event.SUBSCRIBE,
    "advertises": Event.ADVERTISE,
}
"""Events in the words in which people await them."""
_WORDS = re.compile(
    r"(?P<node>\S+)\s+(?:logged\s+(?:the\s+(?P<first_logged>first)\s+)?)?(?P<event>\S+)"
    r"(?:\s+the\s+(?P<first>first))?"
    r"(?P<words>(?:\s+(?!(?:to|from|of|number)(?:\s|$))\S+)*)"
    r"(?:\s+number\s+(?P<number>\d{1,9}))?"
    r"(?:\s+(?:to|from|of)\s+(?P<peer>\S+))?"
)


@dataclass(frozen=True, slots=True)
class AwaitedRecord:
    """The description of a log record that a user waits for."""

    node: str
    event: Event
    words: frozenset[str] = frozenset()
    """Words that must all be the record's kind, label, id or client."""
    peer: str | None = None
    """The neighbour or client that it names; None for any, or none."""
    number: int | None = None
    """Number of the record among those of its name since clients began to join; None for the next one."""

    @classmethod
    def parse(cls, text: str) -> AwaitedRecord:
        """Raises `BadInputError` for what names no record."""
        found = _WORDS.fullmatch(text.strip())
        event = None if found is None else _event(found["event"])
        if found is None or event is None:
            raise BadInputError(
                f"{text!r} names no record of a log; write NODE EVENT [KIND] [to|from PEER], such as "
                "`B3 sends subscribe to B4` (docs/logs.md lists the events)"
            )
        is_first = found["first"] or found["first_logged"]
        number = 1 if is_first else int(found["number"]) if found["number"] else None
        return cls(found["node"], event, frozenset(found["words"].split()), found["peer"], number)

    def fits(self, record: TraceRecord, number: int) -> bool:
        """True of the record itself; `number` is its own among those of its name."""
        return (
            record.event == self.event
            and record.node == self.node
            and self.peer in (None, record.peer, record.client)
            and self.number in (None, number)
            and self.words <= {record.kind, record.label, record.id, record.client}
        )


class RecordWatch:
    """Sees every record of a run, and knows when one that is awaited has come."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str | None, str | None, str | None]] = Counter()
        self._awaited: AwaitedRecord | None = None
        self.met = False
        """True once the record has come that is awaited."""

    def begin(self) -> None:
        """Clients begin to join: records are counted from now on."""
        self._counts.clear()

    def expect(self, awaited: AwaitedRecord | None) -> None:
        """Awaits a record from now on, or none."""
        self._awaited, self.met = awaited, False

    def see(self, record: TraceRecord) -> None:
        """To be called with each record."""
        if record.event in _GAUGES or record.node == EMULATOR:
            return
        name = (record.node, record.event, record.kind, record.label, record.peer)
        self._counts[name] += 1
        if self._awaited is not None and self._awaited.fits(record, self._counts[name]):
            self.met = True


def _event(word: str) -> Event | None:
    return _SAID.get(word) or next((event for event in Event if event.value == word), None)
