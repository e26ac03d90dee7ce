"""Sessions of clients that move, each of which is one session with one broker after another.

1. To the client it is one session: it breaks when the client departs, and is back when it is open with the broker at
   which the client has arrived, and no other one. A session with any other broker is no return.
2. A soft handover breaks nothing while the client has its new session. What it declared has settled there some time
   after that session was opened, and until then the client is served by the old one: it is without its service from
   when it leaves the old broker until then, if that is later. Where both are sessions with one broker, because the
   client goes to another site of it, the first one that ends is the old one.
3. A broker ends the session of a client that left it without a word by silence, within the time that the manifest
   states. A notification that it hands to such a client later shows that it did not (`session stays`), unless the
   client is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from analysis.judging.histories.history import MissingSession, Renewal, ServedTwice, Session, StayingSession
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage
from analysis.reading.stays import Stay, Stays
from record.handover import MoveCost, MoveCosts, MoveLoss, PublishingLoss

_Value = TypeVar("_Value")
DeclaredBy = Callable[[Session, str, int], int]
"""The time by which what clients declare in a session has settled that is open with a broker since a time."""


class MovedSessions:
    """The sessions of one variant, those of clients that move joined to one."""

    def __init__(self, sessions: Mapping[Session, Sequence[OutageEvent]], stays: Stays, costs: MoveCosts) -> None:
        """`costs` are those of each handover."""
        self._stays = stays
        self._costs = costs
        self.joined: dict[Session, list[OutageEvent]] = {}
        """The events of each session; of clients that move under the broker of their first stay."""
        self._made: dict[tuple[Session, int], int] = {}
        """The time at which a client that broke with a broker already had its session with the next one."""
        of_client: dict[str, list[OutageEvent]] = {}
        for session, events in sessions.items():
            if stays.of(client_of(session[0])):
                of_client.setdefault(session[0], []).extend(events)
            else:
                self.joined[session] = list(events)
        for node, events in of_client.items():
            session = node, stays.of(client_of(node))[0].broker
            chain = self._chain(session, sorted(events))
            self.joined[session] = [event._replace(target=session[1]) for event in chain]

    def lasting(self, session: Session, outage: Outage, declared_by: DeclaredBy) -> tuple[int, int] | None:
        """The time for which an outage of a session concerns its clients, until what they declare anew has settled;
        None for a handover that costs nothing."""
        arrived = self._arrived(session, outage.begin)
        if arrived is None or arrived.handover is None:
            return _until_declared(session, self._home(session, outage.end), outage, declared_by)
        if self._costs.get(arrived.handover, MoveCost()).loses is MoveLoss.NOTHING:
            return None
        made = self._made.get((session, outage.begin))
        returned = outage if made is None else replace(outage, end=made)
        begin, end = _until_declared(session, arrived.broker, returned, declared_by)
        return (begin, end) if begin < end else None

    def served_twice(self, within: int) -> dict[Session, list[ServedTwice]]:
        """The soft handovers that were over only after the clients' operations had settled at their new brokers, for
        which they take `within`. They cost what the old broker keeps, where they cost anything."""
        found: dict[Session, list[ServedTwice]] = {}
        for (session, gone), made in self._made.items():
            arrived = self._arrived(session, gone)
            cost = MoveCost() if arrived is None or arrived.handover is None else self._costs.get(arrived.handover)
            if made + within <= gone and (cost or MoveCost()).loses is not MoveLoss.NOTHING:
                found.setdefault(session, []).append(ServedTwice(made + within, gone))
        return found

    def publishing_anew(self, within: int) -> dict[Session, list[tuple[int, int]]]:
        """The times after soft handovers in which what clients publish may be lost, because they publish at their new
        broker from their arrival on, where their advertisements settle `within` that time."""
        found: dict[Session, list[tuple[int, int]]] = {}
        for (session, gone), made in self._made.items():
            arrived = self._arrived(session, gone)
            cost = None if arrived is None or arrived.handover is None else self._costs.get(arrived.handover)
            if (cost or MoveCost()).publishing is PublishingLoss.UNSETTLED:
                found.setdefault(session, []).append((made, made + within))
        return found

    def spread(self, found: Mapping[Session, _Value]) -> dict[Session, _Value]:
        """Findings on each session, under the names of all brokers that its client has been at."""
        return {
            (node, name): value
            for (node, broker), value in found.items()
            for name in dict.fromkeys((broker, *(stay.broker for stay in self._stays.of(client_of(node)))))
        }

    def named(self, missing: Iterable[MissingSession]) -> list[MissingSession]:
        """The sessions that did not come back, each with the broker that its client was to have one with."""
        return [
            found._replace(broker=self._stays.at(client, found.broke).broker, left=self._left(client, found.broke))
            if self._stays.of(client := client_of(found.node))
            else found
            for found in missing
        ]

    def renewals(self, sessions: Mapping[Session, Sequence[Outage]], declared_by: DeclaredBy) -> list[Renewal]:
        """Sessions with new brokers, in which clients that moved have to make anew what they had declared."""
        found = []
        for session, outages in sessions.items():
            for left, stay in self._stays.handovers(client_of(session[0])):
                broke = [down for down in outages if down.begin == left.end and down.end < FOREVER]
                for down in broke:
                    back = self._made.get((session, down.begin), down.end)
                    due = declared_by(session, stay.broker, back)
                    if stay.end > due:
                        found.append(Renewal(session[0], stay.broker, min(left.end, back), back, due, left.broker))
        return found

    def stayed(self, renewal: Renewal) -> bool:
        """False for the restart of a broker at which the client of a session of its own, which moves, was not when it
        failed, or no longer when all of it was due again."""
        stays = self._stays.of(client_of(renewal.node))
        return not stays or any(
            stay.broker == renewal.broker and stay.begin <= renewal.failed and renewal.due < stay.end for stay in stays
        )

    def _home(self, session: Session, time: int) -> str:
        """The broker that a session is to be with at a time."""
        client = client_of(session[0])
        return self._stays.at(client, time).broker if self._stays.of(client) else session[1] or ""

    def _arrived(self, session: Session, gone: int) -> Stay | None:
        """The stay to which a client went at this time; None where its session broke in another way."""
        handovers = self._stays.handovers(client_of(session[0]))
        return next((stay for left, stay in handovers if left.end == gone), None)

    def _left(self, client: str, broke: int) -> str:
        """The broker that a client has left at this time; empty where its session broke in another way."""
        return next((left.broker for left, _ in self._stays.handovers(client) if left.end == broke), "")

    def _chain(self, session: Session, events: Sequence[OutageEvent]) -> Iterable[OutageEvent]:
        """The events of a client's sessions as those of one. The first stay begins with what its own session does; each
        later one with the client's departure from the one before, and the return with the first session that is open
        at its broker."""
        stays, is_open = self._stays.of(client_of(session[0])), False
        for number, stay in enumerate(stays):
            own = [event for event in events if event.target == stay.broker and self._is_of(event, stays, number)]
            if number:
                gone = self._departure(session, events, stays[number - 1])
                if is_open:
                    yield gone
                opened = next((event for event in own if not event.begins), None)
                is_open = opened is not None
                if opened is None:
                    continue
                own = own[own.index(opened) + 1 :]
                if opened.at < gone.at:
                    self._made[session, gone.at.time] = opened.at.time
                    if stays[number - 1].broker == stay.broker:
                        own = _without_first_end(own)
                    opened = gone._replace(at=gone.at._replace(line=gone.at.line + 1), begins=False)
                yield opened
            for event in own:
                if event.at.time < stay.end:
                    yield event
                    is_open = not event.begins

    def _departure(self, session: Session, events: Sequence[OutageEvent], left: Stay) -> OutageEvent:
        """The client's departure, by the emulator's record, as an event of its session."""
        like = events[0]
        return like._replace(at=like.at._replace(time=left.end), begins=True)

    @staticmethod
    def _is_of(event: OutageEvent, stays: Sequence[Stay], number: int) -> bool:
        """True of an event that falls into a stay, and not into a later one at the same broker."""
        later = [stay.begin for stay in stays[number + 1 :] if stay.broker == stays[number].broker]
        return stays[number].begin <= event.at.time and not (later and event.at.time >= later[0])


def _until_declared(session: Session, broker: str, outage: Outage, declared_by: DeclaredBy) -> tuple[int, int]:
    return outage.begin, outage.end if outage.end == FOREVER else declared_by(session, broker, outage.end)


def _without_first_end(events: Sequence[OutageEvent]) -> list[OutageEvent]:
    first = next((number for number, event in enumerate(events) if event.begins), len(events))
    return [*events[:first], *events[first + 1 :]]


def client_of(node: str) -> str:
    """The client at the end of a session of its own; empty for one of many clients."""
    return node.partition(" ")[2]


def staying_sessions(
    stays: Stays, served: Mapping[tuple[str, str], Sequence[int]], within: int
) -> list[StayingSession]:
    """The sessions that brokers did not end `within` nanoseconds after their clients had left. `served` are the times
    of notifications that brokers had for clients that move, by client and broker."""
    found = []
    for client, of_client in stays.of_client.items():
        for number, stay in enumerate(of_client):
            back = next((later.begin for later in of_client[number + 1 :] if later.broker == stay.broker), FOREVER)
            late = [time for time in served.get((client, stay.broker), ()) if stay.end + within < time < back]
            if late:
                found.append(StayingSession(client, stay.broker, stay.end, max(late)))
    return found
