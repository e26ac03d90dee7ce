"""The delivery oracle: which clients must, may and must not get each publication, and what went wrong.

It believes clients only: what they advertised, subscribed to, published and withdrew, how they were answered, and which
notifications they got; and the injector of faults, for the times of faults. It proves, for every publication and
client:

1. **must**: a subscription of the client that matches had settled before the publication was published and was not
   withdrawn before it could be delivered, and the publication conforms to an advertisement of its own client of which
   the same is true. Not to get it is the defect *lost*; to get it twice is *duplicated*.
2. **may**: as above, but the subscription or the advertisement was in flight: made or withdrawn within
   `SETTLE_SECONDS`, or never confirmed; or the publication was in flight during a lossy outage; or the run was cut
   short within `CUT_SHORT_SECONDS` after it. To get it and not to get it are both right; to get it twice is
   *duplicated*.
3. **due**: as must, where routing promises best effort only (`record.promises`). Not to get it lowers the delivery
   ratio and is no defect. It still is a must where the client's own broker received the publication: a broker
   notifies all of its clients of what it receives.
4. **none**: everything else, publications outside their client's advertisements included. To get it is *spurious*.

An operation has settled `SETTLE_SECONDS` after its confirmation. An operation confirmed before the phase `run` began
has settled when that phase began, because the emulator waits there until the overlay is quiet. An operation that was
rejected, as its client was notified, never existed. A subscription made again under the same name replaces the earlier
one from then on.

A publication is in flight from its publishing until `SETTLE_SECONDS` after its last record in any log. Only here does
the oracle rely on brokers, and only in favour of a publication that waited in a queue for long: a withdrawal or an
outage during that wait counts. While brokers are frozen or links cut, a publication in a queue may leave no record
until that is over, so an outage before then counts as well.

A fault lasts from the record `fault` to the record `healed` of the same broker or link and on until the overlay has
recovered: the manifest's `recovery` (three missed heartbeats, a reconnection, the protocol's reconciliation) and
`SETTLE_SECONDS` more. A fault that is never healed lasts to the end. Operations in flight during a fault settle when it
is over. A *lossy* outage, which excuses losses, is one that takes messages with it: a fault whose kind costs what is in
flight by the promises of the routing (`record.promises`; to TID routing and OctopiA, kill and stop) and, for its
clients, a broken session of a driver with a broker, from `link_down` to `link_up`. The overlay has not recovered from
it while brokers are frozen or links cut. All other faults delay publications and excuse no loss; a fault of a kind that
the promises do not name excuses everything (`analysis.judging.fault_costs`).

Order: a notification is **overtaken** when a later publication of the same publisher reached the client first. That is
counted and reported. It is the defect *reordered* where routing promises order along an advertisement (fixed TID
routing does; dynamic routing takes different paths by design), the client must get both publications, and both conform
to the same first advertisement of their publisher, so that they travel on one tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from analysis.judging.journeys import Journey
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import Lifetime
from analysis.reading.publication_events import Published, decode_content
from analysis.run_files.time_units import SECOND
from analysis.tables.definitions import Cause, Right
from broker_service.language import Advertisement, ContentError, Predicate, Publication, Subscription, Value
from broker_service.language.relations import conforms
from broker_service.matching import MatchIndex
from record.log import Event
from record.promises import Completeness, Promises

SETTLE_SECONDS = 2.0
"""The longest time that a (un)subscription or (un)advertisement takes to reach every broker, or a publication to be
matched."""
CUT_SHORT_SECONDS = 10.0
"""Publications made less than this before the end of an interrupted run may not have been delivered yet."""

SETTLE = int(SETTLE_SECONDS * SECOND)
_CUT_SHORT = int(CUT_SHORT_SECONDS * SECOND)


class Status(IntEnum):
    """The status of one subscription or advertisement towards one publication. Of several, the greatest counts."""

    NONE = 0
    NOT_YET = 1
    WITHDRAWN = 2
    IN_FLIGHT = 3
    SETTLED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The operations of the clients of one variant, and the outages of the overlay."""

    promises: Promises = field(default_factory=Promises)
    """The promises of the routing."""
    lifetimes: Sequence[Lifetime] = ()
    """In the order in which they were made."""
    run_start: int | None = None
    cut_short: int | None = None
    """The time after which publications of an interrupted run may not have been delivered; None of a whole run."""
    lossy: Intervals = NONE
    """The time in which publications may be lost."""
    silent: Intervals = NONE
    """The time in which publications may wait in a queue without a record in any log."""
    unsettled: Intervals = NONE
    """The time in which operations may take longer to settle, under faults of every kind."""
    session_outages: Mapping[tuple[str, str | None], Intervals] = field(default_factory=dict)
    """By driver and broker."""

    def session_outages_of(self, node: str, broker: str | None) -> Intervals:
        return self.session_outages.get((node, broker), NONE)


def cut_short(end: int | None, interrupted: bool) -> int | None:
    """`History.cut_short` of a run that ended at `end`."""
    return end - _CUT_SHORT if interrupted and end is not None else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The oracle's judgement on one publication and one client."""

    client: str
    right: Right
    cause: Cause | None
    """The reason why a notification is spurious; None where it is not."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The oracle's verdict on one publication."""

    judgements: Sequence[Judgement]
    """One for each client that has a right to it or was notified."""
    tree: int | None
    """The number of the advertisement on whose tree it certainly travels; None where that is not certain."""


@dataclass(frozen=True, slots=True)
class _Life:
    """A lifetime as it is judged: the times from which it certainly holds and certainly no longer holds."""

    client: str
    broker: str | None
    issued: int
    settled: int
    withdrawn: int
    gone: int
    outages: Intervals
    """Outages of the client's session."""

    def status(self, published: int, matched: int, in_flight_until: int) -> Status:
        """The status towards a publication published and last matched at these times, and in flight until then."""
        if self.settled <= published and in_flight_until <= self.withdrawn:
            return Status.IN_FLIGHT if self.outages.overlaps(published, in_flight_until) else Status.SETTLED
        if matched < self.issued - SETTLE:
            return Status.NOT_YET
        return Status.WITHDRAWN if published > self.gone else Status.IN_FLIGHT


class Oracle:
    """Judges the publications of one variant."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._index: MatchIndex[int] = MatchIndex()
        """From content to the number of an interest. Subscriptions with equal predicates, in any order, share an
        interest."""
        self._interested: list[list[_Life]] = []
        self._advertised: dict[str, list[tuple[int, Advertisement, _Life]]] = {}
        interests: dict[frozenset[Predicate], int] = {}
        for number, lifetime in enumerate(history.lifetimes):
            if lifetime.predicates is None:
                continue
            life = _life(lifetime, history)
            if lifetime.made is Event.SUBSCRIBE:
                self._add_subscription(lifetime.predicates, life, interests)
            else:
                self._add_advertisement(number, lifetime.predicates, life)

    def _add_subscription(
        self, predicates: tuple[Predicate, ...], life: _Life, interests: dict[frozenset[Predicate], int]
    ) -> None:
        interest = interests.setdefault(frozenset(predicates), len(interests))
        if interest == len(self._interested):
            self._interested.append([])
            self._index.add(interest, Subscription(predicates))
        self._interested[interest].append(life)

    def _add_advertisement(self, number: int, predicates: tuple[Predicate, ...], life: _Life) -> None:
        try:
            advertisement = Advertisement(predicates)
        except ContentError:
            return
        self._advertised.setdefault(life.client, []).append((number, advertisement, life))

    def judge(self, journey: Journey) -> Verdict:
        """The clients that must and may get a publication, and the reason why others that got it must not."""
        notified = dict.fromkeys(event.client for event in journey.notified)
        published = journey.published
        if published is None:
            return Verdict([Judgement(client, Right.NONE, Cause.UNKNOWN_PUBLICATION) for client in notified], None)
        content = decode_content(published.content)
        matched = max(published.time, journey.matched_last)
        until = max(published.time, journey.seen_last) + SETTLE
        times = published.time, matched, until
        disturbed = self._disturbed(published, until)
        entitled, tree = self._entitlement(published, content, times)
        matching = self._matching(content)
        statuses = _statuses(matching, times)
        owed = self._owed(journey, matching, times)
        judgements = []
        for client in dict.fromkeys((*statuses, *notified)):
            subscribed = statuses.get(client, Status.NONE)
            right = _right(subscribed, entitled, disturbed)
            if right is Right.MUST and owed is not None and client not in owed:
                right = Right.DUE
            if right is not Right.NONE or client in notified:
                judgements.append(Judgement(client, right, _cause(subscribed) if right is Right.NONE else None))
        return Verdict(judgements, tree)

    def _disturbed(self, published: Published, until: int) -> bool:
        """True when the publication may have been in flight during an outage. A publication that waits for a frozen
        broker or a cut link is lost with the broker whose queue holds it."""
        history = self._history
        until = history.silent.settled(published.time, until)
        if history.cut_short is not None and published.time > history.cut_short:
            return True
        session = history.session_outages_of(published.node, published.broker)
        return history.lossy.overlaps(published.time, until) or session.overlaps(published.time, until)

    def _matching(self, content: Mapping[str, Value]) -> list[_Life]:
        """The subscriptions that match, whenever they were made."""
        return [life for interest in self._index.match(content) for life in self._interested[interest]]

    def _owed(self, journey: Journey, matching: Iterable[_Life], times: tuple[int, int, int]) -> set[str] | None:
        """The clients that even best effort owes the publication: those with a settled subscription at a broker that
        received it. None where every publication is promised."""
        if self._history.promises.delivery is Completeness.EVERY:
            return None
        reached = set(journey.reached)
        return {life.client for life in matching if life.broker in reached and life.status(*times) is Status.SETTLED}

    def _entitlement(
        self, published: Published, content: Mapping[str, Value], times: tuple[int, int, int]
    ) -> tuple[Status, int | None]:
        """The greatest status of the advertisements that the publication conforms to, and the number of the oldest of
        them where that is certain."""
        best, oldest, tree = Status.NONE, Status.NONE, None
        for number, status in self._conforming(published.client or "", content, times):
            best = max(best, status)
            if oldest < Status.IN_FLIGHT <= status:
                oldest, tree = status, number
        return best, tree if oldest is Status.SETTLED else None

    def _conforming(
        self, client: str, content: Mapping[str, Value], times: tuple[int, int, int]
    ) -> Iterator[tuple[int, Status]]:
        advertised = self._advertised.get(client)
        if not advertised:
            return
        try:
            publication = Publication(content)
        except ContentError:
            return
        for number, advertisement, life in advertised:
            if conforms(publication, advertisement):
                yield number, life.status(*times)


def _statuses(matching: Iterable[_Life], times: tuple[int, int, int]) -> dict[str, Status]:
    """The greatest status of the matching subscriptions of each client."""
    statuses: dict[str, Status] = {}
    for life in matching:
        status = life.status(*times)
        if status > statuses.get(life.client, Status.NONE):
            statuses[life.client] = status
    return statuses


def _life(lifetime: Lifetime, history: History) -> _Life:
    settled = gone = FOREVER
    confirmed = lifetime.confirmed
    if confirmed is not None:
        settled = confirmed + SETTLE
        if history.run_start is not None and confirmed <= history.run_start:
            settled = min(settled, history.run_start)
        settled = history.unsettled.settled(confirmed, settled)
    if lifetime.gone is not None:
        gone = history.unsettled.settled(lifetime.gone, lifetime.gone + SETTLE)
    return _Life(
        client=lifetime.client,
        broker=lifetime.broker,
        issued=lifetime.issued,
        settled=settled,
        withdrawn=FOREVER if lifetime.withdrawn is None else lifetime.withdrawn,
        gone=gone,
        outages=history.session_outages_of(lifetime.node, lifetime.broker),
    )


def _right(subscribed: Status, entitled: Status, disturbed: bool) -> Right:
    if subscribed is Status.SETTLED and entitled is Status.SETTLED and not disturbed:
        return Right.MUST
    if subscribed >= Status.IN_FLIGHT and entitled >= Status.IN_FLIGHT:
        return Right.MAY
    return Right.NONE


def _cause(subscribed: Status) -> Cause:
    if subscribed >= Status.IN_FLIGHT:
        return Cause.UNADVERTISED
    return _CAUSES[subscribed]


_CAUSES = {
    Status.WITHDRAWN: Cause.WITHDRAWN,
    Status.NOT_YET: Cause.NOT_YET_SUBSCRIBED,
    Status.NONE: Cause.NO_MATCH,
}


def unconfirmed(lifetimes: Iterable[Lifetime]) -> int:
    """The number of lifetimes that were never confirmed."""
    return sum(lifetime.confirmed is None for lifetime in lifetimes)
