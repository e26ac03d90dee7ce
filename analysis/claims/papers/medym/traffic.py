"""Copies of publications between servers, from brokers' logs.

An *event* of the paper is a publication; a *copy* of it is one message from a server to another. Servers and events are
numbered, and a measure works on arrays with a place for each copy or event, because a run holds millions of copies.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from record.log import Event
from topology.link_properties import BrokerId

Integers = NDArray[np.int64]
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

    @property
    def listed(self) -> Integers:
        """Servers in the destination list of each copy under MEDYM: two bytes of the header each, after one byte."""
        return (self.size - self.contents[self.event] - _FORM_BYTES) // _SERVER_BYTES

    @cached_property
    def copies(self) -> Integers:
        """The number of copies of each event."""
        return np.bincount(self.event, minlength=len(self.events)).astype(np.int64)

    def destinations(self, variant: MeasuredVariant) -> list[Integers]:
        """The servers, without the publication server, whose clients were notified of each event; ascending."""
        found: list[set[int]] = [set() for _ in self.events]
        for row in variant.notifications:
            if row.publication in self.events and row.broker is not None:
                event = self.events[row.publication]
                if self.servers[row.broker] != self.publishers[event]:
                    found[event].add(self.servers[row.broker])
        return [np.array(sorted(servers), np.int64) for servers in found]


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

    def traffic(self, servers: Mapping[BrokerId, int]) -> Traffic:
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
        for record in run.records(broker, b'"kind":"publish"'):
            numbers, collected = servers[record.variant], found[record.variant]
            if record.event is Event.SENT:
                assert record.peer is not None
                collected.event.append(collected.number(record.id or ""))
                collected.sender.append(numbers[broker])
                collected.receiver.append(numbers[record.peer])
                collected.size.append(record.bytes or 0)
            elif record.event is Event.RECEIVED and record.peer is None:
                event = collected.number(record.id or "")
                collected.publishers[event] = numbers[broker]
                collected.contents[event] = record.bytes or 0
    return {name: collected.traffic(servers[name]) for name, collected in found.items()}
