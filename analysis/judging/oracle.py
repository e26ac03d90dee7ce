"""The delivery oracle: which clients must, may and must not get each publication, and what went wrong.

**Rights.** The rights of a client follow from clients alone: what they advertised, subscribed to, published and
withdrew, how they were answered, and which notifications they got. A client has one of these rights to a publication:

1. **must**: a subscription of the client matches the publication, and the publication conforms to an advertisement of
   its own client. Both had settled before the publication was published, and neither was withdrawn before it could be
   delivered. The client is *owed* the publication, whatever fails. Not to get it is the defect *lost*, unless evidence
   that names the publication excuses the loss, or nobody can tell. To get it twice is *duplicated*.
2. **may**: as above, but the subscription or the advertisement was in flight: made or withdrawn within the time that an
   operation takes to settle, or never confirmed. To get the publication and not to get it are both right. To get it
   twice is *duplicated*.
3. **due**: as must, where routing promises best effort only (`record.promises`). Not to get the publication lowers the
   delivery ratio and is no defect. It still is a must where the client's own broker received the publication, because
   a broker notifies all of its clients of what it receives. It also is a must where a neighbour of that broker
   received the publication and promises to pass it on to adjacent subscribers
   (`analysis.judging.histories.adjacency`).
4. **none**: everything else, publications outside their client's advertisements included. To get such a publication is
   *spurious*.

No client has a right to a publication that was never accepted: its broker refused it with notice to its publisher, and
did not acknowledge it when it was repeated.

**Settling.** After its confirmation, an operation settles within a time that follows from the overlay's delays,
modelled work and the intervals that routing declares, with an allowance for the work of brokers and host
(`analysis.judging.histories.settling`). For operations that were confirmed before the phase `run` began:

- The allowance ends when that phase begins, because the emulator waits there until the overlay is quiet.
- The whole time ends when that phase begins if the logs show that, from then until the time would have been over, no
  message of a subscription or an advertisement came to a broker (`analysis.judging.rights.standing`).
- Where the emulator waited in vain (the manifest's `unsettled`), such an operation has settled when the last message of
  a subscription or an advertisement of its broker's clients was received. The allowance holds then under a protocol
  that passes subscriptions and advertisements on in messages of its own.

A fault of any kind delays an operation in flight until the fault is healed and the overlay has recovered. An operation
that was rejected, with notice to its client, never existed. A subscription made again under the same name replaces the
earlier one from then on. Operations that brokers do not answer, or reject for no reason, and sessions that break
without a fault are defects of their own (`analysis.judging.deliveries.operations`).

**In flight.** A publication is in flight from its publishing until the settling time after its last record in any log.
Where brokers log a sample of publications (the manifest's `sample`), the last record of a publication outside of it is
one of these: its last record at clients, its last drop at a broker, and its last long wait in a broker's queue
(`waited`), at which it counts as compared with subscriptions, too. Shorter waits are not logged. Under best effort, a
broker is known to have received such a publication where one of that broker's clients was notified. Where none was, a
missed notification is due and not lost.

**Faults.** A fault excuses a loss only where the promises of the routing let the fault cost publications
(`record.promises`), and only by evidence that this publication for this client needed what had failed
(`analysis.judging.evidence.excuses`): a copy that was sent to the failed broker, held by it or waiting for it, or that
met its tables while they recovered. On ways that do not pass the failed element everything is owed. What evidence
excuses is counted by its kind, beside the largest number of notifications that the faults could cost by overlay, faults
and promises. Faults on the session of a publication's publisher, or on the session or the broker of its subscriber, are
a *doubt* wherever the publication was (`analysis.judging.doubt`).

Some promises let a fault cost only what clients of the failed broker publish or should get (`Loss.OWN_CLIENTS`,
`Loss.UNACCEPTED`; `analysis.judging.histories.own_clients`). Such a fault excuses nothing between clients of other
brokers, nor does it delay their subscriptions, except while it cuts their brokers off from each other
(`analysis.judging.histories.cuts`): then publications wait, and operations settle afterwards. Where no path is left to
the end of the run, what was in flight may be lost. With `Loss.UNACCEPTED`, a publication that its broker accepted is
owed even if that broker failed, once the broker is back. The broker's acknowledgement to the publisher proves that the
publication was accepted, and so does a notification of any client.

**Links that vanish** (`analysis.judging.histories.vanished_links`). Under best effort they excuse nothing, because the
delivery ratio is to show their cost. Other routing promises a cost for `VANISHED_LINKS`. Either the link may take along
what is in flight on it, and publications between brokers that no path of present links joins may be lost; or it costs
nothing, publications wait until there is a path again, and they are lost only where there is none to the end of the
run.

**Order.** A notification is **overtaken** when a later publication of the same publisher reached the client first. That
is counted and reported. It is the defect *reordered* in these cases:

- Where routing promises the order of each publisher, it is for every notification. Where the protocol also gives
  publications positions in streams, it is for every notification that came after a later position of its stream,
  whatever its publisher, so that two clients get two publications in the same order
  (`analysis.reading.stream_positions`).
- Where routing promises order along an advertisement (fixed TID routing does; dynamic routing takes different paths by
  design), it is if the client must get both publications, no outage may have struck either, and both conform to the
  same first advertisement of their publisher, so that they travel on one tree.

A publisher that moves publishes in order only as far as each of its brokers is concerned. A client that moves keeps the
order across a handover of its own, unless the handover may cost it (`analysis.judging.deliveries.doubles`).

Routing that promises every publication in the order of each publisher is **gapless**: from the start of a subscription
on, a may becomes a must (`analysis.judging.rights.duties`, `analysis.judging.deliveries.gaps`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from analysis.judging.doubt import Doubt
from analysis.judging.histories.adjacency import Adjacency, CopyArrival
from analysis.judging.histories.history import History
from analysis.judging.journeys.journey import Journey
from analysis.judging.rights.composite_rights import CompositeRights, PartMatch
from analysis.judging.rights.declared import conjunction_of
from analysis.judging.rights.duties import Duties, Found, Judgement, proven
from analysis.judging.rights.interests import Interests, ReadContent, interests_of
from analysis.judging.rights.standing import Flight, Standing, Status, standings_of
from analysis.judging.rights.subscribed import Subscribed, moments_of
from analysis.reading.intervals import NONE
from analysis.reading.publication_events import UNKNOWN, Published
from analysis.tables.deliveries import Cause, Right
from record.log import Event
from record.promises import Completeness

_MOST_KNOWN = 10_000
"""Combinations of interests that are kept with the subscriptions that they stand for."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The oracle's verdict on one publication."""

    judgements: Sequence[Judgement]
    """One for each client that has a right to it or was notified."""
    tree: int | None
    """The number of the advertisement on whose tree it certainly travels; None where that is not certain."""
    matches: Sequence[PartMatch] = ()
    """One for each composite subscription with parts that it matches."""
    found: Found = ()
    """The subscriptions that it matches, each with its status."""


class Oracle:
    """Judges the publications of one variant."""

    def __init__(self, history: History, interests: Interests) -> None:
        """`interests` are those of the history's declarations."""
        self._history = history
        self._duties = Duties.of(history) if history.promises.gapless else None
        self._proves = history.promises.gapless or bool(history.losses)
        self._undoubted = history.cut_short is None and not history.has_outages
        self._keeps_accepted = history.promises.keeps_accepted
        self.interests = interests
        self._interested: list[list[Standing]] = [[] for _ in range(len(interests))]
        """The subscriptions of each interest."""
        self._advertised: dict[str, list[tuple[int, int, Standing]]] = {}
        """Advertisements by client: the number of the lifetime, the number among the interests, and the standing."""
        for number, lifetime in enumerate(history.lifetimes):
            conjunction = conjunction_of(lifetime)
            if conjunction is None:
                continue
            standings = list(standings_of(number, lifetime, history))
            if lifetime.made is Event.SUBSCRIBE:
                self._interested[interests.number_of(conjunction)] += standings
            else:
                advertisement = interests.number_of_advertisement(conjunction)
                self._advertised.setdefault(lifetime.client, []).extend(
                    (number, advertisement, made) for made in standings
                )
        self._composites = CompositeRights(history, self._status)
        self._moments = moments_of(made for interested in self._interested for made in interested)
        self._known: dict[tuple[int, tuple[int, ...]], Subscribed] = {}
        """Matching subscriptions with their statuses, by the time between two of these moments, and the interests
        matched."""

    def judge(self, journey: Journey) -> Verdict:
        """The clients that must and may get a publication, and the reason why others that got it must not."""
        notified = journey.receipts
        published = journey.published
        if published is None:
            return Verdict([Judgement(client, Right.NONE, Cause.UNKNOWN_PUBLICATION) for client in notified], None)
        content = self.interests.read(published.content)
        flight = self._flight(journey, published)
        if journey.refused and not journey.accepted:
            refused = [Judgement(client, Right.NONE, Cause.REFUSED) for client in notified]
            return Verdict(refused, None, self._composites.refused(content, flight))
        conforming = list(self._conforming(published, content))
        entitled, tree = _entitlement(conforming, flight)
        subscribed = self._subscribed(content.interests, flight)
        found = subscribed.found
        judgements = subscribed.judgements(entitled, flight.doubt, notified)
        matches = self._composites.matches(content, flight, entitled)
        if self._history.promises.delivery is not Completeness.EVERY:
            promised = _promised(journey, found, flight, self._history.adjacency)
            judgements = _with_best_effort(judgements, promised)
        if self._proves:
            judgements = proven(judgements, notified, found)
        if self._duties is not None:
            entitled_even_so = any(made.certainly_holds(published.time, flight.until) for _, made in conforming)
            if not journey.rejected and self._duties.owing(flight, entitled_even_so):
                judgements = self._duties.owed(judgements, found, flight)
                self._composites.raise_announced(matches, flight, self._duties)
        return Verdict(judgements, tree, matches, found)

    def _flight(self, journey: Journey, published: Published) -> Flight:
        until = max(published.time, journey.seen_last) + self._history.settling.within
        accepted = self._keeps_accepted and (journey.accepted or bool(journey.receipts))
        return Flight(
            published=published,
            matched=max(published.time, journey.matched_last),
            until=until,
            accepted=accepted,
            arrived=bool(journey.reached) and not journey.rejected,
            doubt=self._doubt(journey, published, until, accepted),
        )

    def _doubt(self, journey: Journey, published: Published, until: int, accepted: bool) -> Doubt | None:
        """The reason why the publication may never have left its publisher's broker; None without any. What fails on
        its way is no doubt, and excuses a loss by evidence alone."""
        if self._undoubted:
            return None
        history = self._history
        if history.cut_short is not None and published.time > history.cut_short:
            return Doubt.CUT_SHORT
        waiting = history.silent.settled(published.time, until)
        if history.own_clients is not None:
            lossy, unaccepted = history.own_clients.of(published.broker)
            if lossy.overlaps(published.time, waiting):
                return Doubt.OWN_BROKER
            if not accepted and unaccepted.overlaps(published.time, waiting):
                return Doubt.OWN_BROKER
        session = history.session_of_publisher(published)
        down = history.session_outages_of(*session)
        if history.own_clients is None and journey.reached:
            # Its broker ran on, and may have had no advertisement of its client yet that had settled.
            down = NONE if history.owes_accepted else history.client_outages.get(session, NONE)
        return Doubt.SESSION if not accepted and down.overlaps(published.time, waiting) else None

    def _subscribed(self, interests: tuple[int, ...], flight: Flight) -> Subscribed:
        """The subscriptions of these interests, whenever they were made, as they stand towards a publication."""
        if self._history.has_cuts:
            return Subscribed(
                [(made, self._status_across(made, flight)) for made in self._made(interests, flight.published.time)]
            )
        between = self._moments.between(flight.published.time, flight.until)
        known = None if between is None else self._known.get((between, interests))
        if known is None:
            known = Subscribed(
                [(made, made.status(*flight.times)) for made in self._made(interests, flight.published.time)]
            )
            if between is not None and len(self._known) < _MOST_KNOWN:
                self._known[between, interests] = known
        return known

    def _status(self, made: Standing, flight: Flight) -> Status:
        """The status of a composite subscription towards a publication."""
        if self._history.has_cuts:
            return self._status_across(made, flight)
        return made.status(*flight.times)

    def _made(self, interests: Iterable[int], published: int) -> Iterator[Standing]:
        """The subscriptions of these interests by which a publication of this time is judged."""
        return (made for interest in interests for made in self._interested[interest] if made.concerns(published))

    def _status_across(self, made: Standing, flight: Flight) -> Status:
        """The status of a subscription towards a publication of another broker, which may have been cut off."""
        history, published = self._history, flight.published
        status = made.status_across(history.cuts.between(published.broker, made.broker), *flight.times)
        if status is not Status.SETTLED:
            return status
        parted = history.parted.between(published.broker, made.broker)
        return Status.DOUBTFUL if parted.overlaps(published.time, flight.until) else status

    def _conforming(self, published: Published, content: ReadContent) -> Iterator[tuple[int, Standing]]:
        """The client's advertisements that the content conforms to, with their numbers, in the order made."""
        for number, advertisement, made in self._advertised.get(published.client or "", ()):
            if made.concerns(published.time) and content.conforms(advertisement):
                yield number, made


def oracles_of(histories: Sequence[History]) -> list[Oracle]:
    """The oracle of each variant."""
    return [Oracle(history, interests) for history, interests in zip(histories, interests_of(histories), strict=True)]


def expect(oracles: Sequence[Oracle], published: Iterable[Published]) -> None:
    """Announces the publications to be judged next, in their order, so that their contents are evaluated together."""
    expected: dict[Interests, list[bytes]] = {}
    for publishing in published:
        expected.setdefault(oracles[publishing.variant].interests, []).append(publishing.content)
    for interests, contents in expected.items():
        interests.expect(contents)


def _entitlement(conforming: Iterable[tuple[int, Standing]], flight: Flight) -> tuple[Status, int | None]:
    """The greatest status of the advertisements that the publication conforms to, and the number of the oldest of them
    where that is certain. An accepted publication is entitled by one of them, and so is one that arrived at its broker,
    as far as only a fault makes that doubtful."""
    best, oldest, tree = Status.NONE, Status.NONE, None
    for number, made in conforming:
        status = made.status(*flight.times)
        best = max(best, status)
        if oldest < Status.IN_FLIGHT <= status:
            oldest, tree = status, number
    if flight.accepted and best in (Status.IN_FLIGHT, Status.DOUBTFUL):
        best = Status.SETTLED
    if flight.arrived and best is Status.DOUBTFUL:
        best = Status.SETTLED
    return best, tree if oldest is Status.SETTLED else None


def _promised(journey: Journey, found: Found, flight: Flight, adjacency: Adjacency | None) -> set[str]:
    """The clients to which even best effort promises a publication: those with a settled subscription at a broker that
    received it, or next to one that passes it on to them."""
    arrivals = _arrivals(journey)
    reached = {broker for broker, _, _ in arrivals}
    if adjacency is not None:
        published, _, until = flight.times
        passing_on = adjacency.passing_on(arrivals)
        subscribed = {made.broker for made, _ in found if made.broker is not None} - reached
        reached |= {broker for broker in subscribed if adjacency.leads_to(broker, passing_on, published, until)}
    return {made.client for made, status in found if made.broker in reached and status is Status.SETTLED}


def _arrivals(journey: Journey) -> list[CopyArrival]:
    """The arrivals of a publication at brokers: those in their logs, or outside of the logs' sample the notifications
    of their clients."""
    if journey.logged:
        return list(map(CopyArrival, journey.reached, journey.arrived.tolist(), journey.travelled.tolist()))
    return [
        CopyArrival(receipt.broker, receipt.notified, UNKNOWN if receipt.hops is None else receipt.hops)
        for receipts in journey.receipts.values()
        for receipt in receipts
        if receipt.broker is not None
    ]


def _with_best_effort(judgements: Iterable[Judgement], promised: Container[str]) -> list[Judgement]:
    """The judgements where only these clients must get the publication."""
    return [
        Judgement(judgement.client, Right.DUE, None)
        if judgement.right is Right.MUST and judgement.client not in promised
        else judgement
        for judgement in judgements
    ]
