"""The path of each notification by the definition, one record after another: the oracle of `journeys.paths`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from record.log import Event, TraceRecord


class NaivePath(NamedTuple):
    """The path on which a publication came to a broker."""

    arrival: TraceRecord
    waited: int | None
    brokers: tuple[str, ...]


def paths(records: Sequence[TraceRecord]) -> list[NaivePath]:
    """The paths to the arrivals of one publication, in the order of links travelled, then of time."""
    found: list[NaivePath] = []
    for arrival in sorted((record for record in records if record.event is Event.RECEIVED), key=_arrival_order):
        if arrival.peer is None:
            found.append(NaivePath(arrival, 0, (arrival.node,)))
        elif (path := _prolonged(found, arrival, records)) is not None:
            found.append(path)
    return found


def _prolonged(found: Sequence[NaivePath], arrival: TraceRecord, records: Sequence[TraceRecord]) -> NaivePath | None:
    """The path to the neighbour's last arrival before it last sent the publication, and the link from there."""
    sent = [
        record
        for record in records
        if record.event is Event.SENT
        and (record.node, record.peer) == (arrival.peer, arrival.node)
        and record.time <= arrival.time
    ]
    if not sent or arrival.hops is None:
        return None
    last = max(sent, key=lambda record: (record.time, -1 if record.duration is None else record.duration))
    for path in reversed(found):
        there = path.arrival
        if there.node == arrival.peer and there.hops == arrival.hops - 1 and there.time <= last.time:
            known = path.waited is not None and last.duration is not None
            waited = (path.waited or 0) + (last.duration or 0) if known else None
            return NaivePath(arrival, waited, (*path.brokers, arrival.node))
    return None


def path_of(notified: TraceRecord, found: Sequence[NaivePath]) -> NaivePath | None:
    """The path of the last arrival at the client's broker before a notification, over as many links as it states."""
    for path in reversed(found):
        fits = notified.hops is None or path.arrival.hops == notified.hops
        if fits and path.arrival.node == notified.peer and path.arrival.time <= notified.time:
            return path
    return None


def _arrival_order(arrival: TraceRecord) -> tuple[int, int, str, str]:
    return -1 if arrival.hops is None else arrival.hops, arrival.time, arrival.node, arrival.peer or ""


def reached(records: Sequence[TraceRecord]) -> list[str]:
    """The brokers at which a publication arrived, in the order of links travelled, then of time."""
    arrivals = sorted((record for record in records if record.event is Event.RECEIVED), key=_arrival_order)
    return [arrival.node for arrival in arrivals]
