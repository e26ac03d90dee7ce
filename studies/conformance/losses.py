"""Losses in a case: messages that brokers dropped, and publications that they refused, with the brokers' reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from broker_service.messages import BrokerId
from broker_service.tracing.trace import Trace
from record.files import log_file, open_log
from record.log import Event, TraceRecord

_LOSSES = frozenset({Event.DROPPED, Event.REFUSED})
_MOST_KEPT = 1000
"""Losses of a case that are kept: the first ones explain the others."""
_MOST_SHOWN = 20
_decode = msgspec.json.Decoder(TraceRecord).decode


class WithLosses:
    """A broker's log that keeps the losses besides, in a list that all brokers of a case share."""

    def __init__(self, trace: Trace, losses: list[TraceRecord]) -> None:
        self.node, self.variant = trace.node, trace.variant
        self._trace = trace
        self._losses = losses

    @property
    def written(self) -> int:
        return self._trace.written

    def write(self, record: TraceRecord) -> None:
        """Appends a record."""
        if record.event in _LOSSES and len(self._losses) < _MOST_KEPT:
            self._losses.append(record)
        self._trace.write(record)


def losses_between(
    logs: Path, brokers: Iterable[BrokerId], begin: int, end: int
) -> tuple[list[TraceRecord], set[BrokerId]]:
    """The losses in the logs of brokers between two times in nanoseconds, in the order of their times.

    Also returns the brokers whose logs do not go on after `end`, so that a loss may be missing.
    """
    found: list[TraceRecord] = []
    behind: set[BrokerId] = set()
    for broker in brokers:
        records = list(_since(log_file(logs, broker), begin))
        found += (record for record in records if record.event in _LOSSES and record.time <= end)
        if all(record.time <= end for record in records):
            behind.add(broker)
    return sorted(found, key=lambda record: record.time)[:_MOST_KEPT], behind


def losses_in_words(losses: Sequence[TraceRecord]) -> Iterator[str]:
    """A sentence for each loss, each different one once."""
    counts = Counter(map(_in_words, losses))
    for sentence, times in list(counts.items())[:_MOST_SHOWN]:
        yield f"{sentence} ({times} times)" if times > 1 else sentence
    if (more := len(counts) - _MOST_SHOWN) > 0:
        yield f"and {more} more"


def _in_words(record: TraceRecord) -> str:
    about = "".join(
        f" {word} {name}" for word, name in (("for", record.peer), ("of client", record.client)) if name is not None
    )
    return f"{record.node} {record.event} {record.kind} {record.id!r}{about}: {record.text}"


def _since(log: Path, begin: int) -> Iterator[TraceRecord]:
    """The records of a log that were made since a time. A line that is torn, or not yet whole, is left out."""
    with open_log(log) as lines:
        for line in lines:
            with suppress(msgspec.DecodeError):
                if (record := _decode(line)).time >= begin:
                    yield record
