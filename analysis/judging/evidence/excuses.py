"""Excuses: a notification that is owed and did not come is excused by evidence that names it, and by nothing else.

The evidence is a lossy outage (`analysis.judging.histories.losses`) of an element, and one of these:

1. **in flight to it**: a copy was sent to the element and never recorded there, and the outage began before it can have
   been handled, or had begun.
2. **held by it**: a copy had arrived at the broker, and none came from there to the next one, within
   `HANDLING_SECONDS` before the outage and without being overtaken by one that went to the same neighbour
   (`analysis.judging.evidence.departures`), or while messages waited there all the time until then, which something
   explains (`analysis.judging.evidence.backlog`), or while the broker had no link to a neighbour on a way to the
   subscriber. A broker that is stopped takes copies until it has ended.
3. **waiting for it**: a copy was dropped that was for the element, or was last seen at a neighbour, while the element
   was down.
4. **its tables recovering**: a copy arrived at the restarted broker, which may have sent it on for some of its
   destinations only, or was last seen anywhere before the element on a way that needs it, after the heal and before the
   overlay had recovered.
5. **without a way out**: each exit of the brokers that copies reached was shut, by outages that explain it
   (`analysis.judging.evidence.exits`). Not one element is named here, but all of these.

Except by the fifth, nothing is excused by an element that no way between publisher and subscriber can pass, that the
publication had passed before the outage, or from whose outage the overlay certainly had recovered.

A publication outside of the sample that brokers logged leaves no such evidence; where an outage may have struck it, it
is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.judging.evidence.backlog import HANDLING, Backlogs
from analysis.judging.evidence.departures import Departures
from analysis.judging.evidence.exits import ClosedLinks, Exits
from analysis.judging.evidence.recovery import Recoveries
from analysis.judging.evidence.ways import Passing, Ways
from analysis.judging.histories.cuts import NO_CUTS, Cuts
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.histories.settling import Settling
from analysis.judging.histories.unread import NOTHING_UNREAD, Unread
from analysis.judging.judged import WAY_UNKNOWN, JudgedPublication, PublicationOutcome
from analysis.judging.trace import CopyTrace, Step, StepKind
from analysis.reading.intervals import FOREVER, NONE, Intervals
from record.faults import FaultKind
from record.promises import Promises
from record.time_units import SECOND
from topology.link_properties import BrokerId

NOT_SAMPLED = "brokers logged a sample of publications without it"
_ENDED: Mapping[str, str] = {FaultKind.KILL: "killed", FaultKind.STOP: "stopped"}


class Excuse(NamedTuple):
    """The evidence by which the loss of a notification is excused."""

    kind: str
    """A few words that name the element, the same for all losses of one kind by one outage."""
    evidence: str
    """The record, the fault and the promise."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts about one variant by which losses are excused."""

    losses: Sequence[LossyOutage]
    ways: Ways
    backlogs: Backlogs
    departures: Departures
    settling: Settling
    promises: Promises
    closed: ClosedLinks = field(default_factory=dict)
    undrained: int | None = None
    """The end of the drain phase, where messages were still in flight then; None where all had arrived."""
    unlogged: str = NOT_SAMPLED
    """The reason why the way of a publication is not known that brokers did not log."""
    oldest: int = 0
    """The longest delay from publishing of the notifications that came shortly before that end, nanoseconds."""
    behind_rates: frozenset[str] = frozenset()
    """Clients whose messages may wait for the rate of an access link."""
    unread: Unread = NOTHING_UNREAD
    """The notifications that slow readers did not get."""
    unprocessed: frozenset[tuple[str, str]] = frozenset()
    """Clients and publications of the notifications that came to client programs which had not acknowledged them when
    their streams ended."""

    clients_struck: Mapping[str, Intervals] = field(default_factory=dict)
    """The times without its session, and until its subscriptions have settled again, of each client that faults of its
    own or moves struck."""
    cuts_at_end: Cuts = NO_CUTS
    """The cuts of a run that was interrupted, some of which may not have ended by then."""

    def cut_off_at_end(self, judged: JudgedPublication, outcome: PublicationOutcome) -> bool:
        """True when the run was interrupted while the brokers of publisher and subscriber were cut off from each other,
        and the publication had not been lost before: it was last seen while they were, or shortly before."""
        since = self.cuts_at_end.between(judged.origin, outcome.broker).unending
        return since < FOREVER and judged.seen_last >= since - self.settling.crossing

    def under_way(self, judged: JudgedPublication, outcome: PublicationOutcome) -> bool:
        """True when the drain phase ended while a publication may have been on its way: it was seen shortly before, or
        messages waited until then at a broker that it had come to. A broker that dropped a copy of it ended its way.
        Queues for the rate of an access link are in no log, so that whatever goes over one may wait there.

        It must have been published no earlier than the oldest of those that clients were notified of shortly before,
        because a router that keeps a publication moving for ever would never lose one otherwise.
        """
        end, latest = self.undrained, max(self.oldest, self.settling.crossing)
        if end is None or judged.drops or judged.published is None:
            return False
        if not self.behind_rates.isdisjoint((judged.publisher or "", outcome.client)):
            return True
        if judged.published < end - latest:
            return False
        waiting = any(self.waited(judged, outcome, broker, judged.seen_last, end) for broker in judged.reached)
        return waiting or judged.seen_last >= end - self.settling.crossing

    def waited(
        self, judged: JudgedPublication, outcome: PublicationOutcome, broker: BrokerId, begin: int, end: int
    ) -> bool:
        """True if a copy on its way to the client may have waited at a broker from `begin` to `end`, so that the time
        is explained."""
        ends = judged.origin, outcome.broker
        return self.backlogs.lasted(
            broker, begin, end, lambda element: self.ways.passing(*ends, element) > Passing.NEVER
        )

    def excuse(self, judged: JudgedPublication, outcome: PublicationOutcome, recoveries: Recoveries) -> Excuse | None:
        """The excuse of a loss; None without evidence."""
        search = _Search(self, judged, outcome, recoveries)
        return next(filter(None, map(search.by, self.losses)), None) or self._without_exit(judged, outcome)

    @property
    def exits(self) -> Exits:
        return Exits(self.ways, self.losses, self.closed, self.settling.within)

    def _without_exit(self, judged: JudgedPublication, outcome: PublicationOutcome) -> Excuse | None:
        """The excuse of a publication that could not leave the brokers that it had reached."""
        shut = self.exits.shut(judged.steps, judged.origin, outcome.broker)
        if not shut:
            return None
        elements = ", ".join(sorted({exit.outage.element for exit in shut}))
        records = "; ".join(exit.record for exit in shut)
        causes = "; ".join(self.stated(outage) for outage in sorted({exit.outage for exit in shut}))
        return Excuse(f"without a way past {elements}", f"{records}; {causes}")

    def may_have_struck(
        self, judged: JudgedPublication, outcome: PublicationOutcome, least: Passing = Passing.USUAL
    ) -> bool:
        """True if some outage may have lost a publication on its way to the client, whatever was logged of it.

        The outage struck a broker or link that publications between the two brokers pass with at least the certainty
        `least`, or for which a copy was sent or dropped. A link passes nothing while either of its directions is down,
        because a stream needs both.
        """
        ends = judged.origin, outcome.broker
        return any(
            self.ways.passing(*ends, element) >= least or any(step.is_towards(element) for step in judged.steps)
            for outage in self._during(judged)
            for element in outage.struck
        )

    def may_have_struck_last(self, judged: JudgedPublication, outcome: PublicationOutcome) -> bool:
        """True if an outage may have lost a publication on its last hop or at the subscriber's broker.

        The outage struck the subscriber's broker, one of its neighbours, or one of its links in either direction,
        because a stream needs both. No other outage can lose a publication that has come so far.
        """
        broker = outcome.broker
        near = set() if broker is None else {broker, *self.ways.overlay.neighbours(broker)}
        ends = ((outage.ends or (outage.element,)) for outage in self._during(judged))
        return any(broker is None or broker in end or (len(end) == 1 and end[0] in near) for end in ends)

    def _during(self, judged: JudgedPublication) -> Iterator[LossyOutage]:
        """The outages that lasted, recovery included, while a publication may have been in flight."""
        published = judged.published or 0
        until = max(published, judged.seen_last) + self.settling.within
        return (outage for outage in self.losses if outage.begin <= until and published <= outage.recovered)

    def last_seen(self, judged: JudgedPublication, outcome: PublicationOutcome) -> str:
        """The last record of a publication that was lost, on its way to the client: where no record is on a way that
        notifications took, on one that the overlay allows."""
        if self.unlogged != NOT_SAMPLED and not judged.logged:
            return f"{WAY_UNKNOWN}{self.unlogged}"
        copies = [step for step in judged.steps if step.kind is not StepKind.DROPPED]
        by_certainty: dict[Passing, list[Step]] = {}
        for step in copies:
            by_certainty.setdefault(self._passing(judged, outcome, step), []).append(step)
        for certainty in (Passing.USUAL, Passing.IMAGINABLE, Passing.NEVER):
            on_way = [step for passing, steps in by_certainty.items() if passing >= certainty for step in steps]
            if on_way:
                return str(max(on_way, key=lambda step: step.time))
        return "no broker received it"

    def _passing(self, judged: JudgedPublication, outcome: PublicationOutcome, step: Step) -> Passing:
        """The certainty with which the way to the client passes a record of a copy."""
        ends = judged.origin, outcome.broker
        if step.peer is None:
            return self.ways.passing(*ends, step.broker)
        sent = step.kind is StepKind.SENT
        return self.ways.passing(*ends, f"{step.broker}->{step.peer}" if sent else f"{step.peer}->{step.broker}")

    def may_have_held(self, broker: BrokerId, since: int, begin: int) -> bool:
        """True when a broker may have held a message of any kind from one time to the other: it had hardly come, or
        something explains that it waited."""
        return begin - since <= HANDLING or self.backlogs.lasted(broker, since, begin, lambda _: True)

    def stated(self, outage: LossyOutage) -> str:
        """The fault and the promise, as evidence states them."""
        until = "to the end" if outage.end == FOREVER else f"to {outage.end / SECOND:.3f} s"
        cost = self.promises.loss(outage.kind).value
        return (
            f"{outage.kind} of {outage.element} from {outage.begin / SECOND:.3f} s {until}; "
            f"the promises let it cost {cost}"
        )

    def outlived(self, judged: JudgedPublication, outcome: PublicationOutcome, recoveries: Recoveries) -> bool:
        """True when the client certainly had its subscription back after its broker had failed, and nothing of its own
        had taken its session since."""
        published = judged.published or 0
        struck = self.clients_struck.get(outcome.client, NONE)
        if struck.overlaps(published, max(published, judged.seen_last) + self.settling.within):
            return False
        own = [outage for outage in self.losses if outage.element == outcome.broker and outage.end <= published]
        return bool(own) and recoveries.recovered(judged, outcome.client, outcome.subscriptions, own[-1])


def ended(outage: LossyOutage) -> str:
    """The effect of a fault on a broker, in one word."""
    return _ENDED.get(outage.kind, "struck")


_RESTARTED = "neighbour restarted"
"""The reason with which a link drops what waited for the former incarnation of its neighbour (docs/logs.md)."""


class _Search:
    """The search for the excuse of one loss."""

    def __init__(
        self, evidence: Evidence, judged: JudgedPublication, outcome: PublicationOutcome, recoveries: Recoveries
    ) -> None:
        self._evidence = evidence
        self._judged = judged
        self._outcome = outcome
        self._recoveries = recoveries
        self._trace = CopyTrace(judged.steps)
        self._published = judged.published or 0
        self._within = evidence.settling.within

    def by(self, outage: LossyOutage) -> Excuse | None:
        """The excuse by one outage."""
        if self._is_recovered(outage):
            return self._by_former(outage)
        outage = outage.towards(self._outcome.broker)
        if outage.begin > max(self._published, self._judged.seen_last) + self._within + self._waited(outage):
            return None
        if self._published > outage.recovered:
            return None
        passing = self._evidence.ways.passing(self._judged.origin, self._outcome.broker, outage.element)
        if passing is Passing.NEVER:
            return None
        found = self._at_link(outage, passing) if outage.ends else self._at_broker(outage, passing)
        return None if found is None else Excuse(found[0], f"{found[1]}; {self._evidence.stated(outage)}")

    def _by_former(self, outage: LossyOutage) -> Excuse | None:
        """The excuse of a copy that waited for the former incarnation of a broker, though copies over another link have
        reached the new one: each link finds out by itself."""
        for step in self._trace.drops():
            if step.peer == outage.element and step.text == _RESTARTED and step.time <= outage.recovered:
                return Excuse(
                    f"dropped with what waited for {outage.element} before its restart",
                    f"{step}; {self._evidence.stated(outage)}",
                )
        return None

    def _waited(self, outage: LossyOutage) -> int:
        """Nanoseconds for which the publication may have waited before the outage at the broker that it struck, or at
        that where it was seen last."""
        last = self._trace.last
        for broker in (outage.element, *(() if last is None else (last.broker,))):
            since = self._judged.seen_last
            if self._lasted(broker, since, outage.begin):
                return outage.begin - since
        return 0

    def _is_recovered(self, outage: LossyOutage) -> bool:
        return self._recoveries.recovered(self._judged, self._outcome.client, self._outcome.subscriptions, outage)

    def _at_link(self, outage: LossyOutage, passing: Passing) -> tuple[str, str] | None:
        source, target = outage.ends or ("", "")
        if self._leads_on(outage.element):
            return None
        for step in self._trace.sent(source, target):
            if outage.begin - self._within <= step.time <= outage.recovered:
                return f"in flight over {outage.element} when it failed", str(step)
        return self._before(outage, passing, source)

    def _at_broker(self, outage: LossyOutage, passing: Passing) -> tuple[str, str] | None:
        broker, trace = outage.element, self._trace
        arrivals = trace.arrivals(broker)
        if arrivals and outage.end <= arrivals[-1].time <= outage.recovered:
            return f"at {broker}, whose tables were recovering", str(arrivals[-1])
        if waiting := self._evidence.exits.waiting(arrivals, self._judged.origin, self._outcome.broker, outage.begin):
            return f"held by {broker} when it was {ended(outage)}", waiting
        if self._has_passed(broker):
            return None
        if not arrivals:
            return self._into(outage) or self._before(outage, passing, None)
        last = arrivals[-1]
        if last.time > outage.begin:
            # A broker that is stopped takes and sends on until it has ended, which some of it may not survive.
            is_ending = outage.kind == FaultKind.STOP and last.time < outage.end
        else:
            lasting = [step.time for step in (last, *trace.out_of(broker))]
            is_ending = self._held(broker, last.time, max(lasting), outage.begin)
        return (f"held by {broker} when it was {ended(outage)}", str(last)) if is_ending else None

    def _has_passed(self, broker: str) -> bool:
        """True when a copy left the broker for good on a way to the subscriber, and none that left it on such a way
        never came: of several copies, that one may have been the subscriber's. Where no way to the subscriber was seen,
        a copy that has not left yet may have been, too."""
        ways, ends = self._evidence.ways, (self._judged.origin, self._outcome.broker)
        sent = {step.peer for step in self._trace.out_of(broker)}
        came = {step.peer for step in self._trace.arrivals(broker)}
        unsent = () if ways.were_seen(*ends) else set(ways.overlay.neighbours(broker)) - came
        onward = [each for each in {*sent, *unsent} if each is not None and self._is_on_a_way(f"{broker}->{each}")]
        return bool(onward) and all(self._trace.arrived_over(broker, neighbour) for neighbour in onward)

    def _leads_on(self, direction: str) -> bool:
        """True when a copy arrived over a direction of a link to the subscriber: it passed what is before."""
        source, _, target = direction.partition("->")
        return self._is_on_a_way(direction) and bool(self._trace.arrived_over(source, target))

    def _is_on_a_way(self, direction: str) -> bool:
        """True when publications usually pass a direction of a link on their way to the subscriber."""
        ends = self._judged.origin, self._outcome.broker
        return self._evidence.ways.passing(*ends, direction) >= Passing.USUAL

    def _held(self, broker: str, came: int, since: int, begin: int) -> bool:
        """True when a broker may have held a copy, which came at some time, from one time to the other."""
        handled = begin - since <= HANDLING and not self._overtaken(broker, came, begin)
        return handled or self._lasted(broker, since, begin)

    def _overtaken(self, broker: str, came: int, begin: int) -> bool:
        """True when publications that came to a broker later were further than this one before an outage, for each
        neighbour to which it had to go: they had left the broker, or where it had left, too, had come to the
        neighbour."""
        ways, ends = self._evidence.ways, (self._judged.origin, self._outcome.broker)
        onward = [
            neighbour
            for neighbour in ways.overlay.neighbours(broker)
            if ways.passing(*ends, f"{broker}->{neighbour}") >= Passing.USUAL
        ]
        return bool(onward) and all(self._latest(begin, broker, neighbour) > came for neighbour in onward)

    def _latest(self, begin: int, broker: str, neighbour: str) -> int:
        departures = self._evidence.departures
        latest = departures.passed if self._trace.sent(broker, neighbour) else departures.left
        return latest.get((begin, broker, neighbour), 0)

    def _lasted(self, broker: str, begin: int, end: int) -> bool:
        return self._evidence.waited(self._judged, self._outcome, broker, begin, end)

    def _into(self, outage: LossyOutage) -> tuple[str, str] | None:
        """Evidence of a copy that was sent to the broker that failed, and never recorded there."""
        broker = outage.element
        for step in self._trace.into(broker):
            arrives = step.time + self._within
            waited = self._lasted(broker, step.time, outage.begin)
            if (outage.begin <= arrives or waited) and step.time <= outage.recovered:
                return f"in flight to {broker} when it failed", str(step)
        return None

    def _before(self, outage: LossyOutage, passing: Passing, source: str | None) -> tuple[str, str] | None:
        """Evidence of a copy that never came to the element: it waited for it, or missed the tables behind it."""
        for step in self._trace.drops():
            if step.is_towards(outage.element) and outage.begin <= step.time <= outage.recovered:
                return f"dropped while {outage.element} was down", str(step)
        last = self._trace.last
        unknown = last is None and not self._judged.logged
        ended_elsewhere = last is not None and last.kind is StepKind.DROPPED
        if passing is Passing.IMAGINABLE or unknown or ended_elsewhere:
            return None
        seen, where = (self._published, "no broker received it") if last is None else (last.time, f"last {last}")
        waits_at_client = last is None and self._judged.origin == outage.element and outage.end < FOREVER
        if waits_at_client or seen > outage.recovered or not self._may_wait_for_it(outage, seen):
            return None  # a publisher waits for its broker, and sends it then
        if seen >= outage.end:
            return f"on its way to {outage.element}, whose tables were recovering", where
        near = last is not None and (last.broker == source or self._adjacent(last.broker, outage.element))
        return (
            (f"on its way to {outage.element}, which was down", where) if passing is Passing.CERTAIN or near else None
        )

    def _may_wait_for_it(self, outage: LossyOutage, seen: int) -> bool:
        """True when a copy that was seen last at this time may have needed the element after its outage began."""
        last = self._trace.last
        if last is None:
            return outage.begin - seen <= HANDLING
        if last.kind is StepKind.ARRIVED:
            return self._held(last.broker, seen, seen, outage.begin)
        return outage.begin - seen <= HANDLING or self._lasted(last.broker, seen, outage.begin)

    def _adjacent(self, broker: str, element: str) -> bool:
        return element in self._evidence.ways.overlay.neighbours(broker)
