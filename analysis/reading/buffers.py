"""Readings of the buffers of brokers' routers, at eight bytes a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.run_files.time_units import second_of
from analysis.tables.buffers import BufferSize
from analysis.tables.totals import Series
from record.log import TraceRecord
from record.time_units import MILLISECOND


class BrokerBuffer(NamedTuple):
    """A buffer of a broker in one variant."""

    variant: int
    broker: str
    buffer: str


class BufferReadings(Series[BrokerBuffer]):
    """Sizes and waits that buffers showed: quintuples of time, bytes, publications, publications that were notified of
    since the last, their waits in nanoseconds."""

    def __init__(self) -> None:
        super().__init__(BrokerBuffer)

    def show(self, variant: int, record: TraceRecord) -> None:
        buffer = BrokerBuffer(variant, record.node, record.label or "")
        reading = record.time, record.bytes or 0, record.queue or 0, record.count or 0, record.duration or 0
        self.of(buffer).extend(reading)

    def rows(self, variants: Sequence[str], run_starts: Sequence[int | None]) -> Iterator[BufferSize]:
        """The rows of the table `buffers`, by buffer, then by second."""
        for buffer, shown in sorted(self.by_key.items()):
            seconds: dict[int, tuple[int, int, int, int]] = {}
            for place in range(0, len(shown), 5):
                time, size, publications, notified, waited = shown[place : place + 5]
                second = second_of(time, run_starts[buffer.variant])
                if second is not None:
                    most = seconds.get(second, (0, 0, 0, 0))
                    sizes = max(most[0], size), max(most[1], publications)
                    seconds[second] = *sizes, most[2] + notified, most[3] + waited
            for second, (size, publications, notified, waited) in sorted(seconds.items()):
                yield BufferSize(
                    variant=variants[buffer.variant],
                    broker=buffer.broker,
                    buffer=buffer.buffer,
                    second=second,
                    bytes=size,
                    publications=publications,
                    notified=notified,
                    mean_wait_ms=waited / notified / MILLISECOND if notified else None,
                )
