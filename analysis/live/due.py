"""Notifications that are due, and those of them that have arrived, by the judge's own matching.

A publication is due to a client from the moment on at which one of the client's subscriptions that it matches was
confirmed, until that is withdrawn. The judge's further reasons (advertisements, the time that operations take to
settle, the cost of faults) are known after a run only. So the page says *not yet arrived*, and only the verdict says
*lost*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from analysis.judging.language.columns import Columns
from analysis.judging.language.conditions import Conjunction, subscribed
from analysis.judging.language.matching import Matcher
from record.log import Event, TraceRecord

OPERATIONS = {Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.CONFIRMED}
"""Events of clients that change what is due to them."""


@dataclass(slots=True)
class _Subscription:
    """One subscription of a client, made once."""

    client: str
    interest: int
    confirmed: int | None = None
    withdrawn: int | None = None

    def stands_at(self, time: int) -> bool:
        return (
            self.confirmed is not None and self.confirmed < time and (self.withdrawn is None or time < self.withdrawn)
        )


@dataclass(slots=True)
class _Awaited:
    """A publication whose notifications have not all arrived."""

    intended: int
    clients: set[str]


@dataclass(slots=True)
class DueNotifications:
    """The notifications of one variant that are due, from records of clients in order of time."""

    owe: Callable[[int, int], None]
    """Takes the time of a publication, and the number of clients that it is due to."""
    arrive: Callable[[int, int], None]
    """Takes the time of a notification that was due, and its delay, which counts from the time at which the workload
    wanted the publication."""
    _interests: dict[frozenset[object], int] = field(default_factory=dict)
    _conjunctions: list[Conjunction] = field(default_factory=list)
    _by_interest: list[list[_Subscription]] = field(default_factory=list)
    _standing: dict[tuple[str, str], _Subscription] = field(default_factory=dict)
    _matcher: Matcher | None = None
    _awaited: dict[str, _Awaited] = field(default_factory=dict)

    def take(self, records: Sequence[TraceRecord]) -> None:
        """Counts what further records of clients, in order of time, make due."""
        self._apply(record for record in records if record.event in OPERATIONS)
        self._publish([record for record in records if record.event is Event.PUBLISH])
        for record in records:
            if record.event is Event.NOTIFIED:
                self._notify(record.id or "", record.client or "", record.time)

    def _apply(self, operations: Iterable[TraceRecord]) -> None:
        for record in operations:
            key = record.client or "", record.id or ""
            if record.event is Event.SUBSCRIBE:
                if key in self._standing:  # made again under the same name, it replaces the earlier one
                    self._standing[key].withdrawn = record.time
                made = self._standing[key] = _Subscription(key[0], self._interest(record))
                self._by_interest[made.interest].append(made)
            elif key in self._standing:
                standing = self._standing[key]
                if record.event is Event.UNSUBSCRIBE:
                    standing.withdrawn = record.time
                elif standing.confirmed is None and record.kind == Event.SUBSCRIBE:
                    standing.confirmed = record.time

    def _interest(self, record: TraceRecord) -> int:
        """The number of equal predicates, of which a new one makes another matcher necessary."""
        conjunction = subscribed(record.predicates or ())
        number = self._interests.setdefault(frozenset(conjunction), len(self._interests))
        if number == len(self._conjunctions):
            self._conjunctions.append(conjunction)
            self._by_interest.append([])
            self._matcher = None
        return number

    def _publish(self, publications: Sequence[TraceRecord]) -> None:
        self._matcher = self._matcher or Matcher(self._conjunctions)
        for first in range(0, len(publications), self._matcher.chunk):
            chunk = publications[first : first + self._matcher.chunk]
            found = self._matcher.matches(Columns([{**(made.numbers or {}), **(made.strings or {})} for made in chunk]))
            for place, made in enumerate(chunk):
                clients = {
                    subscription.client
                    for interest in found.of(place)
                    for subscription in self._by_interest[interest]
                    if subscription.stands_at(made.time)
                }
                if clients and made.id:
                    self._awaited[made.id] = _Awaited(made.intended or made.time, clients)
                    self.owe(made.time, len(clients))

    def _notify(self, publication: str, client: str, time: int) -> None:
        awaited = self._awaited.get(publication)
        if awaited is None or client not in awaited.clients:
            return
        awaited.clients.remove(client)
        self.arrive(time, time - awaited.intended)
        if not awaited.clients:
            del self._awaited[publication]
