"""Duties of a gapless protocol: the subscriptions by which a client that may get a publication must get it.

A subscription *starts* with some publication of each publisher, and from then on its client gets every one that it
matches. The oracle cannot see the start in brokers. It learns of it from clients (`analysis.judging.deliveries.gaps`):

1. A notification proves the start of a subscription if no other subscription of its client may have caused it.
2. A broker may announce a start. That only adds to its duties. It covers the publications of a broker that was cut
   off at that time, or from whose cut the overlay had not recovered, from the end of that recovery on.
3. A subscription that has settled has started. Without any outage that concerns its client or the publisher, a
   publication that it matches is a `must` in the first place.

A `may` that stands for a lack of certainty becomes a `must` by a subscription that had started. A duty does not exist
where the publication may never have been accepted (its publisher's session or broker was down, it was rejected, or no
advertisement of the publisher certainly held), nor where a fault that is not survived may have cost it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from analysis.judging.doubt import Doubt
from analysis.judging.histories.history import History
from analysis.judging.judged import Duty
from analysis.judging.rights.standing import Flight, Standing, Status
from analysis.reading.intervals import Intervals
from analysis.tables.deliveries import Cause, Right

Found = Sequence[tuple[Standing, Status]]
"""Subscriptions that match a publication, whenever they were made, each with its status."""


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """The oracle's judgement on one publication and one client."""

    client: str
    right: Right
    cause: Cause | None
    """The reason why a notification is spurious; None where it is not."""
    broker: str | None = None
    """The client's broker, where it is owed the publication."""
    doubt: Doubt | None = None
    """The fault that may have cost it what it is owed; None where none of these did, or nothing is owed."""
    proves: int | None = None
    """The number of the only subscription by which it may have got the publication."""
    duties: tuple[Duty, ...] = ()
    """The subscriptions that make the publication due to the client if they have started."""


@dataclass(frozen=True, slots=True)
class Duties:
    """The duties in one variant."""

    history: History
    lossy: Intervals
    """The time in which faults that are not survived may cost any publication."""

    @classmethod
    def of(cls, history: History) -> Duties:
        """The duties of a history."""
        return cls(history, Intervals.of((outage.begin, outage.recovered) for outage in history.losses))

    def owing(self, flight: Flight, entitled: bool) -> bool:
        """True when the publication was certainly accepted and nothing may have cost it since. `entitled`: an
        advertisement of its publisher certainly held, whatever failed."""
        history, published, until = self.history, flight.published, flight.until
        if self.lossy.overlaps(published.time, history.silent.settled(published.time, until)):
            return False
        session = history.session_of_publisher(published)
        down = history.session_outages_of(*session)
        if history.own_clients is not None:
            if history.own_clients.of(published.broker)[0].overlaps(published.time, until):
                return False
            down = history.own_clients.down(*session)
        return flight.accepted or (entitled and not down.overlaps(published.time, until))

    def owed(self, judgements: Iterable[Judgement], found: Found, flight: Flight) -> list[Judgement]:
        """The judgements with the duties to clients that may get the publication."""
        standing = _standing(found)
        return [
            replace(judgement, duties=tuple(self._duty(made, flight) for made in standing[judgement.client]))
            if judgement.right is Right.MAY
            else judgement
            for judgement in judgements
        ]

    def is_announced(self, made: Standing, flight: Flight) -> bool:
        """True when a publication is due by a subscription whose start had been announced in the session in which it
        was published."""
        duty, published = self._duty(made, flight), flight.published.time
        return duty.due and duty.announced <= published and not made.outages.overlaps(duty.announced, published)

    def _duty(self, made: Standing, flight: Flight) -> Duty:
        history, published = self.history, flight.published
        brokers = published.broker, made.broker
        cut = history.cuts.between(*brokers)
        parted = history.parted.between(*brokers).overlaps(published.time, flight.until)
        due = flight.doubt is None and not parted and made.due(cut, published.time, flight.until)
        return Duty(made.number, made.withdrawn, made.announced_before(cut, published.time), due, made.broker)


def owing_subscriptions(found: Found) -> dict[str, list[int]]:
    """Numbers of the subscriptions by which a client is owed a publication, by client."""
    owing: dict[str, list[int]] = {}
    for made, status in found:
        if status >= Status.DOUBTFUL:
            owing.setdefault(made.client, []).append(made.number)
    return owing


def proven(judgements: Iterable[Judgement], notified: Container[str], found: Found) -> list[Judgement]:
    """The judgements with the only subscription that may have caused each notification."""
    standing = _standing(found)
    return [
        replace(judgement, proves=standing[judgement.client][0].number)
        if judgement.right is not Right.NONE and judgement.client in notified and len(standing[judgement.client]) == 1
        else judgement
        for judgement in judgements
    ]


def _standing(found: Found) -> Mapping[str, list[Standing]]:
    """Subscriptions that may have caused a notification, by client."""
    standing: dict[str, list[Standing]] = {}
    for made, status in found:
        if status >= Status.IN_FLIGHT:
            standing.setdefault(made.client, []).append(made)
    return standing
