"""Moments that matter: just before, while and just after something that the log of a run names.

A run in virtual time repeats exactly up to the first thing that is changed in it. So a fault that is put into it at the
time of a record of its log comes at that very record again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from record.log import EMULATOR, FAULT_CHANGES, Event, TraceRecord
from studies.exploration.draws import magnitude, milliseconds

_GAUGES = frozenset({Event.QUEUE, Event.BUFFER, Event.LOAD, Event.LAG})
_WAYS = {Event.SENT: "to", Event.RECEIVED: "from"}
"""Records that are verbs of a sentence, and the preposition before the neighbour that they name."""
_Name = tuple[str | None, ...]
"""Node, event, kind, label and peer of a record, and the kind of a fault that it names."""
MOST_MOMENTS = 80
"""Moments of a run that are kept."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A record of a run's log."""

    at: int
    """Nanoseconds since the start of the join phase."""
    node: str
    peer: str
    """The neighbour that it names, or the target of a fault; empty for none."""
    client: str
    """The client that it names; empty for none."""
    words: str
    """Name of the record, such as `B3 sent the first subscribe to B4`."""

    @property
    def of_fault(self) -> bool:
        """True where a fault begins or is healed."""
        return self.node == EMULATOR

    @property
    def concerned(self) -> Iterable[str]:
        """The brokers, sites and clients that it names."""
        ends = self.peer.replace("->", "-").split("-") if self.of_fault else ()
        return filter(None, (self.node, self.peer, self.client, *ends))

    def nearby(self, random: Random) -> int:
        """A time just before the record, at it, or while its effects are under way; nanoseconds as `at`."""
        soon, under_way = milliseconds(magnitude(random, 0.001, 1)), milliseconds(random.uniform(1, 400))
        offset = random.choice((-1, 0, 1, soon, under_way))
        return max(0, self.at + offset)


def moments_of(records: Iterable[TraceRecord], begin: int, random: Random) -> tuple[Moment, ...]:
    """Moments of a run, of which `begin` is the start of the join phase: the first record of each kind at each node and
    peer, and any later one, and the begin and the heal of faults. Where there are too many, some are drawn."""
    found: dict[tuple[_Name, bool], tuple[TraceRecord, int]] = {}
    for name, number, record in _numbered(records, begin):
        if number == 1 or random.randrange(number - 1) == 0:  # any later one, each as likely
            found[name, number > 1] = record, number
    every = list(found.values())
    kept = every if len(every) <= MOST_MOMENTS else random.sample(every, MOST_MOMENTS)
    return tuple([_moment(record, number, begin) for record, number in kept])


def all_moments(records: Iterable[TraceRecord], begin: int) -> Iterator[Moment]:
    """Every moment of a run that is none of its faults."""
    moments = (_moment(record, number, begin) for _, number, record in _numbered(records, begin))
    return (moment for moment in moments if not moment.of_fault)


def _numbered(records: Iterable[TraceRecord], begin: int) -> Iterator[tuple[_Name, int, TraceRecord]]:
    """Records with their names, and their numbers among those of the same name."""
    counts: dict[_Name, int] = {}
    for record in records:
        event, node = record.event, record.node
        if record.time < begin or event in _GAUGES:
            continue
        is_fault = node == EMULATOR
        if is_fault and event not in FAULT_CHANGES:
            continue
        name = node, event, record.kind, record.label, record.peer, record.text if is_fault else None
        counts[name] = number = counts.get(name, 0) + 1
        yield name, number, record


def _moment(record: TraceRecord, number: int, begin: int) -> Moment:
    return Moment(record.time - begin, record.node, record.peer or "", record.client or "", _words(record, number))


def _words(record: TraceRecord, number: int) -> str:
    if record.node == EMULATOR:
        counted = f"the first {record.text}" if number == 1 else f"{record.text} number {number}"
        return f"{record.event} {counted} of {record.peer}"
    preposition = _WAYS.get(record.event)
    verb = "logged" if preposition is None else record.event
    what = " ".join(filter(None, (record.event if preposition is None else None, record.label, record.kind)))
    counted = f"the first {what}" if number == 1 else f"{what} number {number}"
    return f"{record.node} {verb} {counted}" + (f" {preposition or 'of'} {record.peer}" if record.peer else "")
