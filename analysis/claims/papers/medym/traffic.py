"""Copies of publications between servers, from brokers' logs.

An *event* of the paper is a publication; a *copy* of it is one message from a server to another. Servers and events are
numbered, and a measure works on arrays with a place for each copy or event, because a run holds millions of copies.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.papers.medym.notified import COLUMNS, Integers, Notified
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_columns
from record.files import RESULTS
from record.log import Event
from topology.link_properties import BrokerId

Numbers = NDArray[np.float64]

_FORM_BYTES = 1
_SERVER_BYTES = 2


@dataclass(frozen=True)
class Traffic:
    """All copies of the publications of one variant."""

    servers: Mapping[BrokerId, int]
    """The number of each server, from 0."""
    events: Mapping[str, int]
    """The number of each publication, from 0, by its identifier."""
    publishers: Integers
    """The publication server of each event."""
    contents: Integers
    """Bytes of each event's content."""
    event: Integers
    """The event of each copy."""
    sender: Integers
    receiver: Integers
    size: Integers
    """Bytes of each copy: content and header."""
    notified: Notified

    @property
    def listed(self) -> Integers:
        """Servers in the destination list of each copy under MEDYM: two bytes of the header each, after one byte."""
        return (self.size - self.contents[self.event] - _FORM_BYTES) // _SERVER_BYTES

    @cached_property
    def copies(self) -> Integers:
        """The number of copies of each event."""
        return np.bincount(self.event, minlength=len(self.events)).astype(np.int64)

    @cached_property
    def destinations(self) -> list[Integers]:
        """The servers, without the publication server, whose clients were notified of each event; ascending."""
        event, server = self.notified.event, self.notified.server
        away = (event >= 0) & (server >= 0)
        away[away] = server[away] != self.publishers[event[away]]
        reached = np.unique(event[away] * len(self.servers) + server[away])
        ends = np.searchsorted(reached, np.arange(len(self.events) + 1) * len(self.servers)).tolist()
        return [reached[begin:end] % len(self.servers) for begin, end in pairwise(ends)]


@dataclass(slots=True)
class _Collected:
    """Copies of one variant while logs are read. Events are numbered in the order in which they appear."""

    events: dict[str, int] = field(default_factory=dict)
    publishers: dict[int, int] = field(default_factory=dict)
    contents: dict[int, int] = field(default_factory=dict)
    event: array[int] = field(default_factory=lambda: array("q"))
    sender: array[int] = field(default_factory=lambda: array("q"))
    receiver: array[int] = field(default_factory=lambda: array("q"))
    size: array[int] = field(default_factory=lambda: array("q"))

    def number(self, id: str) -> int:
        return self.events.setdefault(id, len(self.events))

    def traffic(self, servers: Mapping[BrokerId, int], notified: Iterable[pa.RecordBatch]) -> Traffic:
        """All of it, given the variant's notifications in batches of `COLUMNS`."""
        count = len(self.events)
        return Traffic(
            servers=servers,
            events=self.events,
            publishers=np.array([self.publishers[number] for number in range(count)], np.int64),
            contents=np.array([self.contents[number] for number in range(count)], np.int64),
            event=np.array(self.event, np.int64),
            sender=np.array(self.sender, np.int64),
            receiver=np.array(self.receiver, np.int64),
            size=np.array(self.size, np.int64),
            notified=Notified.of(notified, self.events, servers),
        )


def traffic_of(run: MeasuredRun) -> Mapping[str, Traffic]:
    """The copies of each variant, by the variant's name; those of sampled publications where logs hold a sample."""
    return run.once(_read)


def _read(run: MeasuredRun) -> Mapping[str, Traffic]:
    servers = {
        variant.name: {broker.id: number for number, broker in enumerate(variant.overlay.brokers)}
        for variant in run.variants
    }
    found = {variant.name: _Collected() for variant in run.variants}
    for broker in run.brokers:
        for record in run.message_records(broker, b'"kind":"publish"'):
            numbers, collected = servers[record.variant], found[record.variant]
            if record.event is Event.SENT:
                assert record.peer is not None
                collected.event.append(collected.number(record.id))
                collected.sender.append(numbers[broker])
                collected.receiver.append(numbers[record.peer])
                collected.size.append(record.bytes)
            elif record.event is Event.RECEIVED and record.peer is None:
                event = collected.number(record.id)
                collected.publishers[event] = numbers[broker]
                collected.contents[event] = record.bytes
    return {
        name: found[name].traffic(servers[name], batches)
        for name, batches in read_columns(run.directory / RESULTS, Notification, COLUMNS)
    }
