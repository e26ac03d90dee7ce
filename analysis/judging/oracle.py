"""The delivery oracle: who must, may and must not have got each publication, and what went wrong.

It believes clients only: what they advertised, subscribed to, published and withdrew, what they were answered, and
what they were notified of; and whoever injected faults, as to when. It proves, for every publication and client:

1. **must**: a subscription of the client that matches had settled before the publication was published and was not
   withdrawn before it could be delivered, and the publication conforms to an advertisement of its own client of which
   the same is true. Not to get it is the defect *lost*; to get it twice is *duplicated*.
2. **may**: as above, but the subscription or the advertisement was in flight: made or withdrawn within
   `SETTLE_SECONDS`, or never confirmed; or the publication was under way during an outage; or the run was cut short
   within `CUT_SHORT_SECONDS` after it. To get it or not are both right; to get it twice is *duplicated*.
3. **none**: all else, publications outside their client's advertisements included. To get it is *spurious*.

An operation has settled `SETTLE_SECONDS` after its confirmation; one confirmed before the phase `run` began has settled
when it began, because the emulator waits there until the overlay is quiet. An operation that the client was told is
rejected never was. A subscription made again under the same name replaces the former one from then on.

A publication is under way from its publishing until `SETTLE_SECONDS` after anything was last logged of it. Here alone
the oracle listens to brokers, and only to be lenient with a publication that stood in a queue for long: a withdrawal or
an outage meets it there. While brokers are frozen or links cut, nothing may be heard of what stands in a queue until
that is over, and an outage before then meets it, too.

A fault lasts from the record `fault` to the record `healed` of the same broker or link and on until the overlay has
recovered: the manifest's `recovery` (three missed heartbeats, a reconnection, the protocol's reconciliation) and
`SETTLE_SECONDS` more. One that is never healed lasts to the end. Operations that a fault meets in flight settle when it
is over. An outage, which excuses losses, is only what takes messages with it: a broker that ends (kill, stop) and, as
far as its clients are concerned, a broken session of a driver with a broker, from `link_down` to `link_up`. The overlay
has not recovered from it while brokers are frozen or links cut (`judging.fault_costs`). All other faults (pause,
slow, throttle, link_down, degrade, corrupt) delay, and excuse no loss; one of a kind that is not known
excuses all (`analysis.judging.fault_costs`, by docs/guarantees.md).

Order: a notification is **overtaken** when a later publication of the same publisher reached the client before. That is
counted and reported. It is the defect *reordered* where routing promises order (the manifest's `keeps_order`: fixed TID
routing does, dynamic routing takes different paths by design), the client must get both, and both conform to the same
first advertisement of their publisher, so that they travel on one tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from analysis.judging.journeys import Journey
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import Lifetime
from analysis.reading.publication_events import Published, decode_content
from analysis.run_files.phases import SECOND
from analysis.tables.tables import Cause, Right
from broker_service.language import Advertisement, ContentError, Predicate, Publication, Subscription, Value
from broker_service.language.relations import conforms
from broker_service.matching import MatchIndex
from record.log import Event

SETTLE_SECONDS = 2.0
"""How long a (un)subscription or (un)advertisement may take to reach every broker, and a publication to be matched."""
CUT_SHORT_SECONDS = 10.0
"""Of an interrupted run: what was published so shortly before its end may not have been delivered yet."""

SETTLE = int(SETTLE_SECONDS * SECOND)
_CUT_SHORT = int(CUT_SHORT_SECONDS * SECOND)


class Standing(IntEnum):
    """Of one subscription or advertisement towards one publication; of several, the greatest counts."""

    NONE = 0
    NOT_YET = 1
    WITHDRAWN = 2
    IN_FLIGHT = 3
    SETTLED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What clients of one variant did, and what befell the overlay."""

    lifetimes: Sequence[Lifetime] = ()
    """In the order in which they were made."""
    run_start: int | None = None
    cut_short: int | None = None
    """The run was interrupted, and what was published after this time may not have been delivered."""
    lossy: Intervals = NONE
    """In which publications may be lost."""
    silent: Intervals = NONE
    """In which publications may stand in a queue without a word of them in any log."""
    unsettled: Intervals = NONE
    """In which operations may take longer to settle: faults of every kind."""
    session_outages: Mapping[tuple[str, str | None], Intervals] = field(default_factory=dict)
    """By driver and broker."""

    def session_outages_of(self, node: str, broker: str | None) -> Intervals:
        return self.session_outages.get((node, broker), NONE)


def cut_short(end: int | None, interrupted: bool) -> int | None:
    """`History.cut_short` of a run that ended then."""
    return end - _CUT_SHORT if interrupted and end is not None else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """On one publication and one client."""

    client: str
    right: Right
    cause: Cause | None
    """Why a notification would be spurious."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one publication."""

    judgements: Sequence[Judgement]
    """On each client that has some right or was notified."""
    tree: int | None
    """The advertisement whose tree it surely travels on, by number; null where that is not sure."""


@dataclass(frozen=True, slots=True)
class _Life:
    """A lifetime as it is judged: from when it surely holds, and from when it surely does not any more."""

    client: str
    issued: int
    settled: int
    withdrawn: int
    gone: int
    outages: Intervals
    """Of the client's session."""

    def standing(self, published: int, compared: int, under_way_until: int) -> Standing:
        """Towards a publication of that time, compared with subscriptions up to then and under way until then."""
        if self.settled <= published and under_way_until <= self.withdrawn:
            return Standing.IN_FLIGHT if self.outages.overlaps(published, under_way_until) else Standing.SETTLED
        if compared < self.issued - SETTLE:
            return Standing.NOT_YET
        return Standing.WITHDRAWN if published > self.gone else Standing.IN_FLIGHT


class Oracle:
    """Judges the publications of one variant."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._index: MatchIndex[int] = MatchIndex()
        """From content to the number of an interest: subscriptions of equal predicates, in whichever order."""
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
        """Who must and may get a publication, and on what account others that got it must not."""
        notified = dict.fromkeys(one.client for one in journey.notified)
        published = journey.published
        if published is None:
            return Verdict([Judgement(client, Right.NONE, Cause.UNKNOWN_PUBLICATION) for client in notified], None)
        content = decode_content(published.content)
        compared = max(published.time, journey.compared_last)
        until = max(published.time, journey.seen_last) + SETTLE
        times = published.time, compared, until
        disturbed = self._disturbed(published, until)
        entitled, tree = self._entitlement(published, content, times)
        standings = self._standings(content, times)
        judgements = []
        for client in dict.fromkeys((*standings, *notified)):
            subscribed = standings.get(client, Standing.NONE)
            right = _right(subscribed, entitled, disturbed)
            if right is not Right.NONE or client in notified:
                judgements.append(Judgement(client, right, _cause(subscribed) if right is Right.NONE else None))
        return Verdict(judgements, tree)

    def _disturbed(self, published: Published, until: int) -> bool:
        """Whether an outage may have met it. What waits for a frozen broker or a cut link dies with who keeps it."""
        history = self._history
        until = history.silent.settled(published.time, until)
        if history.cut_short is not None and published.time > history.cut_short:
            return True
        session = history.session_outages_of(published.node, published.broker)
        return history.lossy.overlaps(published.time, until) or session.overlaps(published.time, until)

    def _standings(self, content: Mapping[str, Value], times: tuple[int, int, int]) -> dict[str, Standing]:
        """By client, of the subscriptions that match."""
        standings: dict[str, Standing] = {}
        for interest in self._index.match(content):
            for life in self._interested[interest]:
                standing = life.standing(*times)
                if standing > standings.get(life.client, Standing.NONE):
                    standings[life.client] = standing
        return standings

    def _entitlement(
        self, published: Published, content: Mapping[str, Value], times: tuple[int, int, int]
    ) -> tuple[Standing, int | None]:
        """Of the advertisements that the publication conforms to; and the oldest of them, where that is sure."""
        best, oldest, tree = Standing.NONE, Standing.NONE, None
        for number, standing in self._conforming(published.client or "", content, times):
            best = max(best, standing)
            if oldest < Standing.IN_FLIGHT <= standing:
                oldest, tree = standing, number
        return best, tree if oldest is Standing.SETTLED else None

    def _conforming(
        self, client: str, content: Mapping[str, Value], times: tuple[int, int, int]
    ) -> Iterator[tuple[int, Standing]]:
        advertised = self._advertised.get(client)
        if not advertised:
            return
        try:
            publication = Publication(content)
        except ContentError:
            return
        for number, advertisement, life in advertised:
            if conforms(publication, advertisement):
                yield number, life.standing(*times)


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
        issued=lifetime.issued,
        settled=settled,
        withdrawn=FOREVER if lifetime.withdrawn is None else lifetime.withdrawn,
        gone=gone,
        outages=history.session_outages_of(lifetime.node, lifetime.broker),
    )


def _right(subscribed: Standing, entitled: Standing, disturbed: bool) -> Right:
    if subscribed is Standing.SETTLED and entitled is Standing.SETTLED and not disturbed:
        return Right.MUST
    if subscribed >= Standing.IN_FLIGHT and entitled >= Standing.IN_FLIGHT:
        return Right.MAY
    return Right.NONE


def _cause(subscribed: Standing) -> Cause:
    if subscribed >= Standing.IN_FLIGHT:
        return Cause.UNADVERTISED
    return _CAUSES[subscribed]


_CAUSES = {
    Standing.WITHDRAWN: Cause.WITHDRAWN,
    Standing.NOT_YET: Cause.NOT_YET_SUBSCRIBED,
    Standing.NONE: Cause.NO_MATCH,
}


def unconfirmed(lifetimes: Iterable[Lifetime]) -> int:
    """How many were never confirmed."""
    return sum(lifetime.confirmed is None for lifetime in lifetimes)
