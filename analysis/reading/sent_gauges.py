"""Gauges of what links have carried, each beside the `sent` records that precede it in its log.

A log is read in pieces, in any order. Each piece tells what was recorded since it began: at each gauge, at each start
of the broker, and at its own end. Put together by their places in the file, these give what was recorded since the
start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.reading.gauges import Queue
from analysis.reading.traffic import Amount
from analysis.tables.totals import Series
from record.log import TraceRecord

_START, _END = -1, -2
"""Numbers in the place of a gauge's messages where a broker starts, and where a piece ends."""


@dataclass(frozen=True, slots=True)
class SentGauge:
    """The messages and bytes that one gauge has, and those of the records before it."""

    link: Queue
    messages: int
    bytes: int
    recorded: int
    recorded_bytes: int

    @property
    def agrees(self) -> bool:
        return (self.messages, self.bytes) == (self.recorded, self.recorded_bytes)


class SentReadings(Series[Queue]):
    """Quintuples by link: place in the file, messages and bytes of a gauge, messages and bytes recorded since the piece
    began. Those without a neighbour are of all links."""

    def __init__(self) -> None:
        super().__init__(Queue)

    def gauges(self, variant: int) -> Iterator[SentGauge]:
        """The gauges of a variant, by link, then in the order of the file."""
        for link, numbers in sorted(self.by_key.items()):
            if link.variant == variant and link.neighbour:
                starts = self.by_key.get(Queue(variant, link.broker, ""), ())
                rows = {numbers[at]: tuple(numbers[at + 1 : at + 5]) for at in range(0, len(numbers), 5)}
                for place in starts[::5]:
                    rows.setdefault(place, (_START, 0, 0, 0))
                yield from _put_together(link, [rows[place] for place in sorted(rows)])


def _put_together(link: Queue, rows: list[tuple[int, ...]]) -> Iterator[SentGauge]:
    before, bytes_before = 0, 0
    for messages, size, recorded, recorded_bytes in rows:
        if messages == _START:
            before, bytes_before = -recorded, -recorded_bytes
        elif messages == _END:
            before, bytes_before = before + recorded, bytes_before + recorded_bytes
        else:
            yield SentGauge(link, messages, size, before + recorded, bytes_before + recorded_bytes)


class SentReader:
    """Reads one piece of each of some logs."""

    def __init__(self, readings: SentReadings) -> None:
        self._readings = readings
        self._links: dict[Queue, tuple[str, list[Amount]]] = {}
        """The file of each link, and the amounts whose sum was recorded."""
        self._ends: dict[str, int] = {}
        """The place at which the piece of each file ends, as far as it was read."""

    def begin_block(self, file: str, offset: int, records: int) -> None:
        self._ends[file] = offset + records

    def follow(self, link: Queue, file: str, amount: Amount) -> None:
        """Has an amount of `sent` records belong to a link."""
        self._links.setdefault(link, (file, []))[1].append(amount)

    def gauge(self, link: Queue, record: TraceRecord, place: int) -> None:
        """Reads a gauge of a link at its place in the file; the gauges of other brokers may not have sums."""
        if record.sent is not None:
            self._show(link, place, record.sent, record.bytes or 0)

    def start(self, variant: int, broker: str, place: int) -> None:
        """Reads the start of a broker."""
        self._readings.of(Queue(variant, broker, "")).extend((place, _START, 0, 0, 0))
        for link in self._links:
            if link.variant == variant and link.broker == broker:
                self._show(link, place, _START, 0)

    def end(self) -> None:
        """Ends the pieces."""
        for link, (file, _) in self._links.items():
            self._show(link, self._ends[file], _END, 0)
        self._links.clear()

    def _show(self, link: Queue, place: int, messages: int, size: int) -> None:
        _, amounts = self._links.get(link, ("", []))
        recorded = sum(amount.records for amount in amounts)
        self._readings.of(link).extend((place, messages, size, recorded, sum(amount.bytes for amount in amounts)))
